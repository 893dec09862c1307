"""Fixtures that any test may use: stores, a scripted gateway, a browser; and what a failed test reports."""

import gc
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.harness.blank_stores import BlankDatabases, blank_sqlite
from tests.harness.elapsing import Elapsing
from tests.harness.process import Start, servers_in
from tests.postgres import PostgresMissing, PostgresServer, postgres_server
from tests.requirements.manifest import explain
from tests.scripted_gateway import ScriptedGateway

TESTS = Path(__file__).parent
NOT_SLOW = "not slow"
GARBAGE = (10_000, 20, 20)
REQUIRE_ALL = os.environ.get("CARREL_REQUIRE_ALL") == "1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What `./dev test --fast` leaves out, besides Hypothesis searches and tests that carry the mark `slow` themselves.
SLOW_FIXTURES = {"postgres", "chromium_path", "served", "start"}
SLOW_PATHS = (
    "access/test_isolation.py",
    "bench",
    "browser",
    "canary/test_worlds.py",
    "chaos",
    "dashboard/test_build.py",
    "end_to_end",
    "gateway/test_growth.py",
    "house/test_conftest.py",
    "house/test_contracts.py",
    "house/test_dev.py",
    "invariants",
    "isolation/test_worlds.py",
    "main/cli/test_mcp.py",
    "main/cli/test_program.py",
    "main/test_grpc_port.py",
    "main/test_server.py",
    "spawns",
    "surfaces/a2a/test_load.py",
    "surfaces/a2a/test_sdk_client.py",
    "surfaces/api/test_visibility.py",
    "surfaces/responses/test_comply.py",
    "surfaces/responses/test_openai_client.py",
    "surfaces/telegram/test_crashes.py",
    "surfaces/test_account_isolation.py",
    "surfaces/test_growth.py",
    "surfaces/test_openapi.py",
    "surfaces/test_rights.py",
    "surfaces/test_rights_a2a.py",
    "surfaces/test_rights_responses.py",
    "surfaces/test_schemathesis.py",
    "surfaces/test_shared_names.py",
    "test_postgres.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run of the surfaces' tests choose the other database."""
    parser.addoption(
        "--store", choices=("sqlite", "postgres"), default="sqlite", help="the database of the surfaces' tests"
    )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests, those marked `anyio`, on asyncio as the server does."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust no certificate: no test speaks TLS, and reading the machine's for every client takes more than the test."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SSL_CERT_FILE", raising=False)
        environment.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, one for each test process; it is started when the first test wants it."""
    try:
        with postgres_server() as server:
            yield server
    except PostgresMissing as missing:
        pytest.skip(f"no PostgreSQL: {missing}")


@pytest.fixture(scope="session")
def blank_databases(postgres: PostgresServer) -> BlankDatabases:
    """Blank databases of the PostgreSQL server."""
    return BlankDatabases(postgres)


@pytest.fixture
def postgres_url(blank_databases: BlankDatabases) -> Iterator[str]:
    """The URL of a blank PostgreSQL database that is this test's own."""
    url = blank_databases.take()
    yield url
    blank_databases.give_back(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a blank SQLite file."""
    return blank_sqlite(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of a blank store: the test runs once on SQLite and once on PostgreSQL."""
    # Asked for by name, so that the SQLite half of a run starts no PostgreSQL.
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    """A scripted model gateway on a free port."""
    with ScriptedGateway() as running:
        yield running


@pytest.fixture
def elapsing(monkeypatch: pytest.MonkeyPatch) -> Elapsing:
    """The clock of this process, for tests of time limits: they move it on instead of waiting."""
    return Elapsing(monkeypatch)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers in processes of their own on this test's folder, one after the other."""
    with servers_in(tmp_path) as starting:
        yield starting


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of a Chromium that is installed on this machine."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    return found


def is_slow(path: Path) -> bool:
    """Return whether everything at a path is slow."""
    return path.relative_to(TESTS).as_posix().startswith(SLOW_PATHS) if path.is_relative_to(TESTS) else False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are not wanted, do not even import the files that hold nothing else."""
    return True if config.option.markexpr == NOT_SLOW and is_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs PostgreSQL, a browser or a server process, what searches, and all of SLOW_PATHS."""
    for item in items:
        fixtures, parameters = getattr(item, "fixturenames", ()), getattr(item, "callspec", None)
        on_postgres = parameters is not None and "postgresql" in parameters.params.values()
        searches = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if on_postgres or searches or SLOW_FIXTURES & set(fixtures) or is_slow(item.path):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Exempt modules and tests from garbage collection, and let it run less often: it took a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skipped test where everything is required, and let a failed one say what it was to prove."""
    report = yield
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although everything is required: {report.longrepr}"
    names = [name for mark in item.iter_markers("requirement") for name in mark.args]
    if report.failed and names:
        report.sections.append(("requirements", "\n".join(map(explain, names))))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole file that skips itself while it is collected."""
    report = yield
    if REQUIRE_ALL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped although everything is required: {report.longrepr}"
    return report

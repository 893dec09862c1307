"""Fixtures that any test may use: stores, servers, a scripted gateway, a browser; and what a failed test reports.

Two marks change them, for a test or with `pytestmark` for a file: `settings(memory=...)` has the sections of a server's
settings that are not the usual ones, and `kinds("chat", ...)` the kinds of model server that `gateway` is, in turn.
"""

import gc
import os
import shutil
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest

from carrel.kernel.metrics import METRICS, Metrics
from carrel.kernel.settings import Settings
from carrel.wire import Wire
from tests.bridge.road import Road, road_to
from tests.bridge.tiny_server import TinyServer, tiny_server
from tests.gateway.dialects import SCRIPTED
from tests.harness.blank_stores import BlankDatabases, blank_sqlite
from tests.harness.elapsing import Elapsing
from tests.harness.engine import Engine, open_engine
from tests.harness.process import RunningServer, Start, reaching, servers_in
from tests.harness.server import Server, gateways_to, open_server
from tests.postgres import PostgresMissing, PostgresServer, postgres_server
from tests.requirements.manifest import explain
from tests.scripted_gateway import ScriptedGateway

TESTS = Path(__file__).parent
NOT_SLOW = "not slow"
GARBAGE = (10_000, 20, 20)
REQUIRE_ALL = os.environ.get("CARREL_REQUIRE_ALL") == "1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What `./dev test --fast` leaves out, besides Hypothesis searches and tests that carry the mark `slow` themselves. The
# paths are of tests that start servers, commands or other programs of their own, and of those that take more than about
# a second of a processor each.
SLOW_FIXTURES = {"postgres", "chromium_path", "served", "start"}
SLOW_PATHS = (
    "access/test_isolation.py",
    "bench",
    "browser",
    "canary/test_worlds.py",
    "chaos",
    "clients/test_typescript.py",
    "connectors/test_connectors.py",
    "dashboard/test_build.py",
    "docs/test_windows.py",
    "end_to_end",
    "gateway/acp/test_acts.py",
    "gateway/acp/test_faults.py",
    "gateway/acp/test_session.py",
    "gateway/test_growth.py",
    "house/test_conftest.py",
    "house/test_contracts.py",
    "house/test_dev.py",
    "house/test_suite_layout.py",
    "house/test_suite_rules.py",
    "invariants",
    "isolation/test_worlds.py",
    "main/cli/test_connect.py",
    "main/cli/test_mcp.py",
    "main/cli/test_program.py",
    "main/demo/test_build.py",
    "main/test_live_settings.py",
    "main/test_full_disk.py",
    "main/test_grpc_port.py",
    "main/test_server.py",
    "programs",
    "spawns",
    "surfaces/a2a/test_grpc_streams.py",
    "surfaces/a2a/test_load.py",
    "surfaces/a2a/test_sdk_client.py",
    "surfaces/api/test_openapi.py",
    "surfaces/api/test_visibility.py",
    "surfaces/responses/test_comply.py",
    "surfaces/responses/test_openai_client.py",
    "surfaces/telegram/test_bot.py",
    "surfaces/test_account_isolation.py",
    "surfaces/test_growth.py",
    "surfaces/test_pure_reads.py",
    "surfaces/test_rights.py",
    "surfaces/test_rights_a2a.py",
    "surfaces/test_rights_responses.py",
    "surfaces/test_schemathesis.py",
    "surfaces/test_shared_names.py",
    "test_postgres.py",
    "tools/files/test_pdf.py",
)


# No example has a time limit: on a busy machine any of them may take long.
hypothesis.settings.register_profile("carrel", deadline=None)
hypothesis.settings.load_profile("carrel")


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
def blank_databases(postgres: PostgresServer) -> Iterator[BlankDatabases]:
    """Blank databases of the PostgreSQL server."""
    with closing(BlankDatabases(postgres)) as databases:
        yield databases


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
def kind() -> str:
    """The kind of model server that `gateway` is."""
    return "responses"


@pytest.fixture
def gateway(kind: str) -> Iterator[ScriptedGateway]:
    """A scripted model gateway on a free port."""
    with SCRIPTED[kind]() as running:
        yield running


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """An HTTP client."""
    opened = Wire()
    yield opened
    await opened.close()


@pytest.fixture
def tiny() -> Iterator[TinyServer]:
    """A server that answers what a test tells it to."""
    with tiny_server() as running:
        yield running


@pytest.fixture
async def engine(store_url: str) -> AsyncIterator[Engine]:
    """A store on a clock that stands still, on SQLite and again on PostgreSQL."""
    async with open_engine(store_url) as opened:
        yield opened


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> Settings | None:
    """The settings that the mark of a test names."""
    mark = request.node.get_closest_marker("settings")
    return mark and Settings(**mark.kwargs)


@pytest.fixture
async def server(
    sqlite_url: str, kind: str, gateway: ScriptedGateway, settings: Settings | None
) -> AsyncIterator[Server]:
    """A server in this process whose agents reach the scripted gateway."""
    async with open_server(sqlite_url, gateways_to(gateway, kind=kind), settings) as opened:
        yield opened


@pytest.fixture
async def either_server(
    store_url: str, kind: str, gateway: ScriptedGateway, settings: Settings | None
) -> AsyncIterator[Server]:
    """The same on SQLite, and again on PostgreSQL."""
    async with open_server(store_url, gateways_to(gateway, kind=kind), settings) as opened:
        yield opened


@pytest.fixture
def elapsing(monkeypatch: pytest.MonkeyPatch) -> Elapsing:
    """The clock of this process, for tests of time limits: they move it on instead of waiting."""
    return Elapsing(monkeypatch)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers in processes of their own on this test's folder, one after the other."""
    with servers_in(tmp_path) as starting:
        yield starting


@pytest.fixture
def running(start: Start, gateway: ScriptedGateway) -> RunningServer:
    """A server in a process of its own, whose agents reach the scripted gateway."""
    return start(**reaching(gateway))


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server in a process of its own that sorts nothing by itself, for all tests that make accounts of their own."""
    with servers_in(tmp_path_factory.mktemp("served")) as starting:
        yield starting(CARREL_CLASSIFIER__MODE="off")


@pytest.fixture
def road(served: RunningServer) -> Iterator[Road]:
    """The road to an empty board."""
    with road_to(served) as opened:
        yield opened


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of a Chromium that is installed on this machine."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each of its kinds of model server."""
    mark = metafunc.definition.get_closest_marker("kinds")
    if mark is not None and "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", mark.args)


def is_slow(path: Path) -> bool:
    """Return whether everything at a path is slow."""
    return path.relative_to(TESTS).as_posix().startswith(SLOW_PATHS) if path.is_relative_to(TESTS) else False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are not wanted, do not even import the files that hold nothing else."""
    return True if config.option.markexpr == NOT_SLOW and is_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs PostgreSQL, a browser or a process, what searches, and all of SLOW_PATHS."""
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Empty the process's metrics: every server sums up all of them when it starts, those of earlier tests too."""
    Metrics.__init__(METRICS)


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

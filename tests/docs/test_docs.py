"""The commands in the manual work, its tables match the code, and its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Piece, headings_of, links_of, matches, pages, pieces_of
from tests.docs.reference import GENERATORS, PAGES
from tests.harness.process import RunningServer, clean_environment
from tests.requirements.mark import requirement

PIECE_SECONDS = 60
SOURCES = ROOT / "src" / "carrel"
EVENT_NAME = re.compile(r"\"((?:run|session|log|agent|pointer|notification|schedule|memory|auto)\.[a-z_]+)\"")
SCREEN_LINES = 60
# Pages on which nobody has been told to name the server; the others use its address in their commands.
FINDS_THE_SERVER = ("start.md", "python-client.md")


def run_piece(piece: Piece, server: RunningServer) -> subprocess.CompletedProcess[str]:
    """Run a block in a shell that stops at the first failure."""
    command = ["bash", "-euo", "pipefail", "-c", piece.code]
    if piece.language == "python":
        command = [sys.executable, "-c", piece.code]
    return subprocess.run(
        command,
        cwd=server.folder.parent,
        env=server.environment | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PIECE_SECONDS,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in pages() if pieces_of(page)], ids=lambda page: page.name)
def test_what_a_page_shows_works_in_the_order_it_is_shown(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / ".carrel"
    folder.mkdir()
    server = RunningServer(folder, clean_environment(tmp_path))
    if page.name not in FINDS_THE_SERVER:
        server.environment |= {"CARREL_URL": server.url, "CARREL_TOKEN": server.token}
    try:
        for piece in pieces_of(page):
            done = run_piece(piece, server)
            where = f"{piece.page}:{piece.line}"
            assert done.returncode == 0, f"{where} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            if piece.output is not None:
                assert matches(done.stdout, piece.output), f"{where} printed:\n{done.stdout}"
    finally:
        server.close()


@requirement("S0.docs")
def test_the_manual_explains_tasks_with_commands_that_are_run() -> None:
    page = ROOT / "docs" / "guides" / "tasks.md"
    wanted = {"isolation", "what-an-agent-is-sent", "two-switches", "tracing-a-key-and-why-something-does-not-move"}
    assert wanted <= headings_of(page)
    named = ("sessions.task_scoped", "delivery.instructions", "task_history", "messageLimitApplied", "carrel tasks why")
    assert [word for word in named if word not in page.read_text(encoding="utf-8")] == []
    assert any("carrel tasks create" in piece.code for piece in pieces_of(page))


def test_the_manual_shows_things_that_are_run() -> None:
    assert sum(len(pieces_of(page)) for page in pages()) >= 10


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (PAGES / name).read_text(encoding="utf-8") == GENERATORS[name](), "run: python -m tests.docs.reference"


def test_every_event_is_in_the_reference() -> None:
    names = {name for file in SOURCES.rglob("*.py") for name in EVENT_NAME.findall(file.read_text(encoding="utf-8"))}
    page = (PAGES / "events.md").read_text(encoding="utf-8")
    missing = {name for name in names if f"`{name}`" not in page}
    assert not missing, f"docs/reference/events.md does not mention {', '.join(sorted(missing))}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}, which does not exist"
        assert not anchor or anchor in headings_of(target), f"{page.name} links to {link}, an unknown heading"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("0*.md")), ids=lambda page: page.stem)
def test_a_decision_has_its_five_parts_on_one_screen(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parts = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert parts == ["Context", "Decision", "Consequences", "Alternatives", "Enforced by"]
    assert len(text.splitlines()) <= SCREEN_LINES


def test_what_a_decision_is_enforced_by_exists() -> None:
    for page in (ROOT / "docs" / "decisions").glob("0*.md"):
        enforced = page.read_text(encoding="utf-8").rpartition("## Enforced by")[2]
        files = re.findall(r"`((?:src|tests|pyproject)[\w./-]*)`", enforced)
        assert files, f"{page.name} names nothing that enforces it"
        for file in files:
            assert (ROOT / file).exists(), f"{page.name} names {file}, which does not exist"


def test_every_attack_in_the_threat_model_names_a_test_that_exists() -> None:
    rows = [
        line for line in (ROOT / "docs" / "security.md").read_text(encoding="utf-8").splitlines() if "`tests/" in line
    ]
    assert len(rows) > 30
    for row in rows:
        for file, _, name in (proof.partition("::") for proof in re.findall(r"`(tests/[\w./:-]+)`", row)):
            path = ROOT / file
            assert path.exists(), f"{file} does not exist"
            assert f"def {name}(" in path.read_text(encoding="utf-8") or not name, f"{file} has no {name}"


def test_what_the_architecture_points_to_exists() -> None:
    files = re.findall(r"`(src/[\w./-]*)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_runner_of_the_manual_notices_what_is_wrong() -> None:
    assert matches("run_01 ready\nmore", "run_… ready\n…")
    assert not matches("run_01 failed", "run_… ready")

"""The commands in the manual work, its tables match the code, and its links lead somewhere."""

import re
from pathlib import Path

import msgspec
import pytest

from carrel.kernel.settings import Settings
from tests.docs.pages import ROOT, headings_of, links_of, matches, pages, pieces_of, sections_of
from tests.docs.pictures import IMAGES, PICTURES
from tests.docs.reader import Reading, Terminal
from tests.docs.reference import GENERATORS, PAGES
from tests.docs.requests import requests, written
from tests.harness.process import clean_environment
from tests.requirements.mark import requirement

SOURCES = ROOT / "src" / "carrel"
EVENT_NAME = re.compile(r"\"((?:run|session|log|agent|pointer|notification|schedule|memory|auto)\.[a-z_]+)\"")
SCREEN_LINES = 60
PAGES_TO_RUN = [page for page in pages() if pieces_of(page)]


@pytest.mark.slow
@pytest.mark.parametrize("pace", ["quick", "slow"])
@pytest.mark.parametrize("page", PAGES_TO_RUN, ids=lambda page: page.name)
def test_what_a_page_shows_works_in_the_order_it_is_shown(page: Path, pace: str, tmp_path: Path) -> None:
    reading = Reading(tmp_path, pace)
    try:
        for piece in pieces_of(page):
            typed = reading.type(piece)
            where = f"{piece.page}:{piece.line}"
            assert not typed.failed, f"{where}: {typed.failed} failed:\n{typed.out}{typed.err}"
            if piece.output is not None:
                assert matches(typed.out, piece.output), f"{where} printed:\n{typed.out}"
            if pace == "slow":
                reading.catch_up()
    finally:
        reading.server.close()


# What each part of the page about tasks has to tell, in words that it cannot do without.
TOLD_OF_TASKS = {
    "isolation": ("agent:main:task:letter", "agent:writer:task:report", "transcript"),
    "statuses": ("closes its sessions", "generation"),
    "what-an-agent-is-sent": (
        "`instructions`", "`input`", "heading", "`tools`", "receipts.md#how-a-request-is-built", "`taskId`",
        "`messageLimit`", "`activityLimit`", "task messages activities meta", "messageLimitApplied",
        "activityLimitApplied", "oldest first", "newest first", "`not_found`",
    ),
    "two-switches": ("`sessions.task_scoped`", "`delivery.instructions`", "`false`", "`inline`", "to go back"),
    "tracing-a-key-and-why-something-does-not-move": (
        "carrel tasks why", "carrel runs list --task", "carrel sessions show agent:", "carrel queue agent:",
        "session_resolution", "generation",
    ),
}  # fmt: skip


@requirement("S0.docs")
@pytest.mark.parametrize("heading", TOLD_OF_TASKS)
def test_the_manual_explains_the_sessions_of_tasks(heading: str) -> None:
    part = sections_of(ROOT / "docs" / "guides" / "tasks.md")[heading]
    assert [words for words in TOLD_OF_TASKS[heading] if words not in part] == []


@requirement("S0.docs")
def test_the_manual_says_of_both_switches_how_to_go_back_to_their_defaults() -> None:
    part = sections_of(ROOT / "docs" / "guides" / "tasks.md")["two-switches"]
    for setting, default in (("sessions.task_scoped", "true"), ("delivery.instructions", "v2")):
        row = next(line for line in part.splitlines() if line.startswith(f"| `{setting}`"))
        _, _, on, off, back, _ = row.split("|")
        section, name = setting.split(".")
        assert msgspec.to_builtins(getattr(getattr(Settings(), section), name)) == {"true": True}.get(default, default)
        assert f"`{default}`" in on
        assert f"`{default}`" not in off
        assert f"set it to `{default}` again" in back


@requirement("S0.docs")
def test_the_manual_shows_how_to_trace_a_key_with_commands_that_are_run() -> None:
    page = ROOT / "docs" / "guides" / "tasks.md"
    run = "\n".join(piece.code for piece in pieces_of(page))
    for command in ("tasks create", "tasks why letter", "queue agent:main:task:letter", "/history?messageLimit=2"):
        assert command in run, command


def test_every_command_of_the_page_about_openclaw_is_typed_by_the_walk_on_a_real_one() -> None:
    page = ROOT / "docs" / "guides" / "openclaw.md"
    shown = re.findall(r"^```sh.*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == ["```sh openclaw"] * len(pieces_of(page, "openclaw"))
    assert len(shown) > 5


def test_the_manual_shows_things_that_are_run() -> None:
    assert sum(len(pieces_of(page)) for page in pages()) >= 10


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (PAGES / name).read_text(encoding="utf-8") == GENERATORS[name](), "run: python -m tests.docs.reference"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_architecture_is_up_to_date(name: str) -> None:
    assert (IMAGES / name).read_text(encoding="utf-8") == PICTURES[name](), "run: python -m tests.docs.pictures"


@requirement("A.budget")
def test_the_guide_shows_what_agents_are_sent() -> None:
    assert written() == requests(), "run: python -m tests.docs.requests"


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


@pytest.mark.parametrize(
    "code",
    [
        "false\necho on",
        "false | cat",
        'echo "$(false)"',
        'echo "$(false; echo more)"',
        "read_it() { false; echo more; }\nread_it",
        "exit 3",
        'echo "$NOT_SET"',
    ],
    ids=["in the middle", "in a pipe", "as an argument", "within one", "in a function", "at the end", "an unset name"],
)
def test_the_runner_notices_a_command_that_fails(tmp_path: Path, code: str) -> None:
    assert Terminal(tmp_path, clean_environment(tmp_path)).type("sh", code).failed


def test_the_runner_accepts_a_failure_that_the_block_speaks_of(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, clean_environment(tmp_path))
    meant = 'false || echo "status $?"\nif false; then echo yes; else echo no; fi\nuntil true; do false; done'
    assert terminal.type("sh", meant) == ("status 1\nno\n", "", [])
    hiding = [piece for page in pages() for piece in pieces_of(page) if re.search(r"\|\| (true|:)(\s|$)", piece.code)]
    assert hiding == [], "it would hide any other failure as well: print the status instead"


def test_the_runner_keeps_what_a_block_exports(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, clean_environment(tmp_path))
    assert not terminal.type("sh", 'eval "$(echo export CARREL_URL=http://here)"').failed
    assert terminal.type("sh", 'echo "$CARREL_URL"').out == "http://here\n"
    assert terminal.type("python", 'import os; print(os.environ["CARREL_URL"])').out == "http://here\n"

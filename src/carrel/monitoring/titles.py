"""What a person would call a run: the title of its task, else the first words of its message, else its session."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import Run
from carrel.sessions import LaneTitle, clean_title, task_titles, titles_of
from carrel.storage import Tx

_NAMELESS = LaneTitle("a session", "an agent")


class RunTitle(Struct, frozen=True):
    """The title of a run, and that of its session."""

    title: str
    session: str


def titles_of_runs(tx: Tx, access: Access, runs: Iterable[Run]) -> dict[str, RunTitle]:
    """Return the titles of visible runs by id; the number of statements does not depend on that of runs."""
    listed = list(runs)
    lanes = titles_of(tx, access, [run.key for run in listed])
    tasks = task_titles(tx, access, [run.task_id for run in listed if run.task_id is not None])
    return {
        run.id: RunTitle(_title(run, lane := lanes.get(run.key, _NAMELESS), tasks.get(run.task_id or "")), lane.title)
        for run in listed
    }


def _title(run: Run, lane: LaneTitle, task: str | None) -> str:
    """Return the title of a run: its task's, if it is in the lane of a task or about one."""
    if about := clean_title(task or ""):
        return about
    kind, words = run.provenance_kind, clean_title(run.label or run.text)
    if run.session_key.kind == "task" or not words:
        return lane.title
    if kind == "heartbeat":
        return clean_title(f"Heartbeat of {lane.agent}")
    if kind in ("announce", "reply_back", "notification", "internal_system"):
        return lane.title
    return clean_title(f"Schedule · {words}") if kind == "cron" else words

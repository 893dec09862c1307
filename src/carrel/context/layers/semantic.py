"""Recall: what a search has found for a question."""

from carrel.board import BoardFound, Ranked
from carrel.context import store
from carrel.context.budget import as_line
from carrel.context.depth import Shown
from carrel.context.here import Here
from carrel.context.layers.place import task_line, topic_line
from carrel.context.model import NOTES, RECALLED_LOGS, RECALLED_TASKS, RECALLED_TOPICS, Line
from carrel.context.store import TopicRow
from carrel.journal import DEFAULT_SPACE, Entry
from carrel.kernel import Access, one_line
from carrel.kernel.settings import Recall
from carrel.search import Hit
from carrel.storage import Tx

_LOG_CHARS, _NOTE_CHARS = 140, 160


def recalled_lines(
    tx: Tx, seen: Access, here: Here | None, recall: Recall, found: BoardFound, shown: Shown
) -> list[Line]:  # fmt: skip
    """Return a line for each thing that was found, best first; topics and tasks as the block shows them elsewhere."""
    late = _late(tx, seen, here, found)
    logs, notes = ([one for one in ranked if one.item.run_id not in late] for ranked in (found.logs, found.notes))
    logs, notes = logs[: shown.logs], notes[: shown.notes]
    topics, tasks = ({one.item.id: one.hit for one in ranked} for ranked in (found.topics, found.tasks))
    named = {*topics, *(one.item.topic_id for one in logs if one.item.topic_id is not None)}
    rows = {row.id: row for row in store.topics_named(tx, seen, sorted(named), also_asleep=True)}
    digests = recall == "space"
    return [
        *(
            topic_line(rows[name], RECALLED_TOPICS, _why("topic of the board", hit), hit.score, digests=digests)
            for name, hit in topics.items()
            if name in rows
        ),
        *(
            task_line(row, RECALLED_TASKS, _why("task of the board", tasks[row.id]), tasks[row.id].score)
            for row in store.tasks_named(tx, seen, tasks)
        ),
        *(_entry_line(one, NOTES, _NOTE_CHARS, f"note in space {one.item.space_id or DEFAULT_SPACE}") for one in notes),
        *(_entry_line(one, RECALLED_LOGS, _LOG_CHARS, _origin(one.item, here, rows)) for one in logs),
    ]


def _origin(entry: Entry, here: Here | None, topics: dict[str, TopicRow]) -> str:
    """How something that was said reaches this session."""
    if here is not None and entry.session_key in here.buckets:
        return "said here"
    if here is not None and here.task_id is not None and entry.task_id == here.task_id:
        return "said in this task"
    topic = topics.get(entry.topic_id or "")
    return "said on the board" if topic is None else f"topic {one_line(topic.name)} of the board"


def _late(tx: Tx, seen: Access, here: Here | None, found: BoardFound) -> set[str | None]:
    """The runs that were heard before the task of a session was reopened: their late replies are not shown there."""
    if here is None or here.task is None:
        return set()
    runs = [one.item.run_id for one in (*found.logs, *found.notes) if one.item.run_id is not None]
    return {*store.runs_heard_before(tx, seen, runs, here.task.reopened_seq)}


def _entry_line(one: Ranked[Entry], section: str, chars_max: int, origin: str) -> Line:
    entry = one.item
    is_spoken = entry.role in ("user", "assistant")
    said = f"{entry.provenance.marked(entry.role)}: {entry.content}" if is_spoken else entry.content
    return Line(
        id=entry.id,
        kind=one.hit.kind,
        section=section,
        scope=entry.task_id or entry.topic_id or entry.session_key or entry.space_id or DEFAULT_SPACE,
        source=entry.agent_label or entry.author,
        reason=_why(origin, one.hit),
        line=as_line(f"- {said}", chars_max),
        score=one.hit.score,
    )


def _why(origin: str, hit: Hit) -> str:
    """Why a line is shown: how it may get here, and what adds to its score, the most important part first."""
    parts = {name: getattr(hit.reason, name) for name in ("words", "meaning", "label", "session", "note")}
    told = [f"{name} {value:.2f}" for name, value in sorted(parts.items(), key=lambda part: -part[1]) if value >= 0.005]
    return f"{origin}: {', '.join(told) or 'a weak match'}"

"""Recall: what a search has found for a question."""

from collections.abc import Iterable

from carrel.board import BoardFound, Ranked
from carrel.context import store
from carrel.context.budget import as_line
from carrel.context.depth import Shown
from carrel.context.here import Here
from carrel.context.layers.place import task_line, topic_line
from carrel.context.model import NOTES, RECALLED_LOGS, RECALLED_TASKS, RECALLED_TOPICS, Line
from carrel.journal import DEFAULT_SPACE, Entry
from carrel.kernel import Access
from carrel.search import Hit
from carrel.storage import Tx

_LOG_CHARS, _NOTE_CHARS = 140, 160


def recalled_lines(tx: Tx, seen: Access, here: Here | None, found: BoardFound, shown: Shown) -> list[Line]:
    """Return a line for each thing that was found, best first; topics and tasks as the block shows them elsewhere."""
    late = _late(tx, seen, here, found)
    logs, notes = ([one for one in ranked if one.item.run_id not in late] for ranked in (found.logs, found.notes))
    topics, tasks = ({one.item.id: one.hit for one in ranked} for ranked in (found.topics, found.tasks))
    return [
        *(
            topic_line(row, RECALLED_TOPICS, _reason(topics[row.id]), topics[row.id].score)
            for row in store.topics_named(tx, seen, topics, also_asleep=True)
        ),
        *(
            task_line(row, RECALLED_TASKS, _reason(tasks[row.id]), tasks[row.id].score)
            for row in store.tasks_named(tx, seen, tasks)
        ),
        *_entry_lines(notes[: shown.notes], NOTES, _NOTE_CHARS),
        *_entry_lines(logs[: shown.logs], RECALLED_LOGS, _LOG_CHARS),
    ]


def _late(tx: Tx, seen: Access, here: Here | None, found: BoardFound) -> set[str | None]:
    """The runs that were heard before the task of a session was reopened: their late replies are not shown there."""
    if here is None or here.task is None:
        return set()
    runs = [one.item.run_id for one in (*found.logs, *found.notes) if one.item.run_id is not None]
    return {*store.runs_heard_before(tx, seen, runs, here.task.reopened_seq)}


def _entry_lines(ranked: Iterable[Ranked[Entry]], section: str, chars_max: int) -> list[Line]:
    lines = []
    for one in ranked:
        entry = one.item
        said = f"{entry.role}: {entry.content}" if entry.role in ("user", "assistant") else entry.content
        line = Line(
            id=entry.id,
            kind=one.hit.kind,
            section=section,
            scope=entry.task_id or entry.topic_id or entry.session_key or entry.space_id or DEFAULT_SPACE,
            source=entry.agent_label or entry.author,
            reason=_reason(one.hit),
            line=as_line(f"- {said}", chars_max),
            score=one.hit.score,
        )
        lines.append(line)
    return lines


def _reason(hit: Hit) -> str:
    """What adds to the score of a hit, the most important part first."""
    parts = {name: getattr(hit.reason, name) for name in ("words", "meaning", "label", "session", "note")}
    told = [f"{name} {value:.2f}" for name, value in sorted(parts.items(), key=lambda part: -part[1]) if value >= 0.005]
    return ", ".join(told) or "a weak match"

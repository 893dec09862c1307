"""The working set: pinned topics and those of this session, and tasks that are active, urgent or due soon."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from carrel.context import store
from carrel.context.layers.location import task_line, topic_line
from carrel.context.model import WORKING_TASKS, WORKING_TOPICS, Line
from carrel.context.store import TaskRow
from carrel.kernel import MS_PER_DAY, Access, iso
from carrel.storage import Tx

_SOON_DAYS = 7
_ACTIVE = ("in_progress", "review", "blocked")


def topic_lines(
    tx: Tx, seen: Access, routed: list[str], said: list[str], *, limit: int, digests: bool
) -> list[Line]:  # fmt: skip
    """Return the pinned topics, then those that routing memory and the timeline of the session name."""
    pinned = store.pinned_topics(tx, seen, limit=limit) if limit else []
    lines = [topic_line(topic, WORKING_TOPICS, "pinned", digests=digests) for topic in pinned]
    known = {topic.id for topic in pinned}
    reasons = dict.fromkeys(said, "named in this session") | dict.fromkeys(routed, "messages of this session go there")
    named = [name for name in dict.fromkeys((*routed, *said)) if name not in known]
    found = store.topics_named(tx, seen, named)
    lines += [topic_line(topic, WORKING_TOPICS, reasons[topic.id], digests=digests) for topic in found]
    return lines[:limit]


class Pressing(Struct, frozen=True):
    """A task being worked on, and why; a pinned or due one `cannot_wait`, whatever the question."""

    task: TaskRow
    reason: str
    cannot_wait: bool


def pressing_tasks(
    tx: Tx, seen: Access, spaces: tuple[str, ...] | None, topic_id: str | None, *, limit: int
) -> list[Pressing]:  # fmt: skip
    """Return the tasks being worked on, most pressing first; optionally only those of spaces or a topic."""
    soon = tx.now + _SOON_DAYS * MS_PER_DAY
    found = store.working_tasks(tx, seen, spaces=spaces, topic_id=topic_id, soon=soon, limit=limit) if limit else []
    return [Pressing(task, _reason(task, soon), cannot_wait=task.pinned or _is_due(task, soon)) for task in found]


def task_lines(
    pressing: Iterable[Pressing], topic_id: str | None, recalled: Sequence[Line] | None
) -> list[Line]:  # fmt: skip
    """Return the tasks being worked on; if something was searched, only related ones.

    A task is related if it was found, if it belongs to the session's topic, or if it cannot wait.
    """
    found = {line.id: line.score for line in recalled or () if line.kind == "task"}

    def is_shown(one: Pressing) -> bool:
        is_of_topic = topic_id is not None and one.task.topic_id == topic_id
        return recalled is None or one.cannot_wait or one.task.id in found or is_of_topic

    return [task_line(one.task, WORKING_TASKS, one.reason, found.get(one.task.id)) for one in pressing if is_shown(one)]


def newest_lines(tx: Tx, seen: Access, spaces: tuple[str, ...] | None, *, limit: int) -> list[Line]:
    """Return the most recently changed topics and open tasks, for an otherwise empty context.

    Only their names: a digest may quote another session.
    """
    topics = store.newest_topics(tx, seen, limit=limit) if limit else []
    tasks = store.newest_tasks(tx, seen, spaces=spaces, limit=limit) if limit else []
    return [
        *(topic_line(topic, WORKING_TOPICS, "changed last", digests=False) for topic in topics),
        *(task_line(task, WORKING_TASKS, "changed last") for task in tasks),
    ]


def _is_due(task: TaskRow, soon: int) -> bool:
    return task.due_date is not None and task.due_date <= soon


def _reason(task: TaskRow, soon: int) -> str:
    if task.pinned:
        return "pinned"
    if task.status in _ACTIVE:
        return task.status.replace("_", " ")
    if _is_due(task, soon):
        return f"due {(iso(task.due_date) or '')[:10]}"
    return f"priority {task.priority}"

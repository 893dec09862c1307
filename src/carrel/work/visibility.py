"""Which events, entries and changes a caller may see: what is about a task but in no lane is seen with the task.

What is in a lane is seen with the lane, as everywhere.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from carrel import sessions
from carrel.journal import ChangePage, Entry, Event
from carrel.kernel import Access
from carrel.storage import Tx
from carrel.work import store
from carrel.work.model import Task, TaskFilter
from carrel.work.permissions import actor_of, may_read
from carrel.work.tasks import list_tasks

Line = TypeVar("Line", Entry, Event)


class SeenChanges(Struct, frozen=True, kw_only=True):
    """What a caller may see of a page of changes: with the tasks that changed, and the ids of those that it lost."""

    page: ChangePage
    tasks: list[Task]
    left: list[str]


def visible_events(tx: Tx, access: Access, events: list[Event]) -> list[Event]:
    """Return the events that the caller may see."""
    in_lanes = [event for event in events if not _is_of_task(event)]
    return _merged(tx, access, events, sessions.visible_events(tx, access, in_lanes))


def visible_changes(tx: Tx, access: Access, page: ChangePage, after: int, *, limit: int) -> SeenChanges:
    """Return what the caller may see of the changes after a number: a page with at most so many tasks as well."""
    if page.reset:
        tasks = list_tasks(tx, access, TaskFilter(include_archived=True), before=None, limit=limit)
        return SeenChanges(page=_seen(tx, access, page), tasks=tasks, left=[])
    changed = store.tasks_changed(tx, access, after, page.seq, limit=limit + 1)
    if len(changed) > limit:
        changed = changed[:limit]
        page = _cut(page, changed[-1].seq)
    read = _readable(tx, access, [task.id for task in changed])
    hidden = [task.id for task in changed if task.id not in read]
    return SeenChanges(
        page=_seen(tx, access, page),
        tasks=[task for task in changed if task.id in read],
        left=_lost(tx, access, hidden),
    )


def _cut(page: ChangePage, upto: int) -> ChangePage:
    entries = [entry for entry in page.entries if entry.seq <= upto]
    return structs.replace(
        page, seq=upto, more=True, entries=entries, deletions=[one for one in page.deletions if one.seq <= upto]
    )


def _seen(tx: Tx, access: Access, page: ChangePage) -> ChangePage:
    in_lanes = [entry for entry in page.entries if not _is_of_task(entry)]
    seen = sessions.visible_changes(tx, access, page.narrowed(in_lanes, page.deletions))
    return seen.narrowed(_merged(tx, access, page.entries, seen.entries), seen.deletions)


def _is_of_task(line: Entry | Event) -> bool:
    """Whether something is about a task and in no lane; what is addressed to somebody is theirs."""
    return line.key is None and line.task_id is not None and getattr(line, "recipient", None) is None


def _merged(tx: Tx, access: Access, lines: Sequence[Line], in_lanes: Iterable[Line]) -> list[Line]:
    """Return what is in lanes that the caller may see, and what is about tasks that it may read, in order."""
    seen = {line.seq for line in in_lanes}
    read = _readable(tx, access, {line.task_id or "" for line in lines if _is_of_task(line)})
    return [line for line in lines if line.seq in seen or (_is_of_task(line) and line.task_id in read)]


def _readable(tx: Tx, access: Access, task_ids: Iterable[str]) -> set[str]:
    tasks = store.tasks_by_id(tx, access, task_ids)
    if not tasks:
        return set()
    actor = actor_of(tx, access)
    return {task.id for task in tasks if may_read(tx, access, actor, task)}


def _lost(tx: Tx, access: Access, hidden: list[str]) -> list[str]:
    """Of tasks that the caller may not read, those that it once had to do with; of all others it never learns."""
    if not hidden:
        return []
    known = store.tasks_known_to(tx, access, hidden, *actor_of(tx, access).party)
    return [task_id for task_id in hidden if task_id in known]

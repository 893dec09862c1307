"""The topic and space of tasks, and what happens when those move or are removed."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, structs

from carrel.access import SpaceRemoved, readable_space
from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Access, invalid, system_access
from carrel.storage import Tx
from carrel.topics import (
    TopicMoved,
    depart_with_task,
    first_space,
    move_entries,
    set_topic_of_entries,
    spaces_of_topic,
    topic_by_id,
)
from carrel.work import store
from carrel.work.activities import publish
from carrel.work.model import NewTask, Task, TaskChange


def location_of_new(tx: Tx, access: Access, new: NewTask) -> dict[str, Any]:
    """Return the topic and the space of a new task: the given space, else its topic's."""
    own = _topic_space(tx, access, new.topic_id)
    if new.space_id is not None:
        readable_space(tx, access, new.space_id, field="spaceId")
    return {"topic_id": new.topic_id or None, "space_id": new.space_id or own or first_space(access)}


def place_of_changed(tx: Tx, access: Access, task: Task, change: TaskChange) -> dict[str, str | None]:
    """Return a task's topic and space after a change; with a new topic it moves to the topic's space."""
    given: dict[str, str | None] = {}
    if change.topic_id is not UNSET:
        own = _topic_space(tx, access, change.topic_id)
        given["topic_id"] = change.topic_id or None
        if own is not None and change.topic_id != task.topic_id:
            given["space_id"] = own
    if change.space_id is not UNSET:
        readable_space(tx, access, change.space_id, field="spaceId")
        given["space_id"] = change.space_id
    return given


def take_entries_along(tx: Tx, access: Access, before: Task, after: Task) -> None:
    """Move the entries of a task with it, and record the spaces that they leave."""
    if (before.topic_id, before.space_id) == (after.topic_id, after.space_id):
        return
    left = _spaces(tx, access, before) - _spaces(tx, access, after)
    depart_with_task(tx, access, after.id, sorted(left))
    move_entries(tx, access, "task", after.id, after.space_id)
    if before.topic_id != after.topic_id:
        set_topic_of_entries(tx, access, after.id, after.topic_id)


def move_with_topic(tx: Tx, moved: TopicMoved) -> None:
    """Move the tasks of a topic with it; if the topic is removed, they stay in their space without one."""
    place = {"topic_id": None} if moved.space_id is None else {"space_id": moved.space_id}
    _move(tx, system_access(moved.access.account_id), "topic_id", moved.topic_id, place)


def leave_space(tx: Tx, removed: SpaceRemoved) -> None:
    """Move the tasks of a removed space to the default space."""
    access, to = system_access(removed.access.account_id), {"space_id": DEFAULT_SPACE}
    _move(tx, access, "space_id", removed.space_id, to)


def _move(
    tx: Tx, access: Access, column: Literal["topic_id", "space_id"], value: str, to: Mapping[str, str | None]
) -> None:
    for task_id in store.tasks_in(tx, access, column, value):
        task = store.hold_task(tx, access, task_id)
        # It may have been moved before it was locked.
        if task is not None and getattr(task, column) == value and task != (moved := structs.replace(task, **to)):
            changed = store.save_task(tx, access, moved)
            take_entries_along(tx, access, task, changed)
            publish(tx, access, "task.updated", changed)


def _spaces(tx: Tx, access: Access, task: Task) -> set[str]:
    """Return the spaces that a task is visible in."""
    return {task.space_id, *(spaces_of_topic(tx, access, task.topic_id) if task.topic_id else ())}


def _topic_space(tx: Tx, access: Access, topic_id: str | None) -> str | None:
    if not topic_id:
        return None
    if (topic := topic_by_id(tx, access, topic_id)) is None:
        raise invalid("topicId", f"There is no topic '{topic_id[:80]}'.")
    return topic.space_id

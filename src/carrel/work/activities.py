"""What was done to a task: an activity in its journal and an event on the feed, in the transaction of the change."""

from typing import Any

from msgspec import Struct

from carrel.journal import About, Entry, NewEntry, append_entry, append_event, json_text
from carrel.kernel import Access, Provenance
from carrel.storage import Tx
from carrel.work.model import Task
from carrel.work.permissions import Actor
from carrel.work.shapes import ActivityType, task_shape


class TaskChanged(Struct, frozen=True):
    """A task was created or changed."""

    access: Access
    task: Task


def record(tx: Tx, access: Access, actor: Actor, task: Task, kind: ActivityType, summary: str, **data: Any) -> Entry:
    entry = NewEntry(
        type="system",
        role="system",
        content=summary,
        author=actor.id if actor.kind == "agent" else actor.kind,
        author_kind=actor.kind,
        provenance=Provenance(kind="internal_system", actor=actor.id),
        details={"activity": kind, "data": data, "authorName": actor.name},
        run_id=actor.run_id,
        task_id=task.id,
        topic_id=task.topic_id,
        space_id=task.space_id,
        task_view="activities",
    )
    return append_entry(tx, access, entry)


def publish(tx: Tx, access: Access, name: str, task: Task, **more: Any) -> None:
    body = {"task": task_shape(tx, access, task), **more}
    about = About(task_id=task.id, topic_id=task.topic_id, space_id=task.space_id)
    append_event(tx, access, name, about, json_text(body))
    tx.publish(TaskChanged(access, task))

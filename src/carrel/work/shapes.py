"""Tasks, threads and activities as every surface shows them."""

from collections.abc import Iterable
from typing import Any, Literal

from carrel.journal import Entry
from carrel.kernel import Access, Shape
from carrel.records import FileShape, attachment_heads
from carrel.storage import Tx
from carrel.topics import PRIORITIES
from carrel.work import store
from carrel.work.directory import directory_of
from carrel.work.mentions import MentionShape
from carrel.work.model import BoardStatus, Task, TaskFields

ActivityType = Literal["created", "moved", "assigned", "unassigned", "updated", "message", "run", "session"]


class TaskShape(TaskFields[str], frozen=True, kw_only=True):
    """A task."""

    dependencies: list[str]
    board_status: BoardStatus
    priority_label: str
    assigned_user_ids: list[str]
    assigned_agent_ids: list[str]
    position: float


class ThreadMessage(Shape, frozen=True, kw_only=True):
    """One message of a task's thread."""

    id: str
    seq: int
    role: str
    author_kind: str
    author_id: str
    author_name: str
    content: str
    mentions: list[MentionShape]
    attachments: list[FileShape]
    run_id: str | None
    created_at: str


class Activity(Shape, frozen=True, kw_only=True):
    """A change of a task."""

    id: str
    seq: int
    type: ActivityType
    actor_kind: str
    actor_id: str
    summary: str
    data: dict[str, Any]
    created_at: str


def task_shape(tx: Tx, access: Access, task: Task) -> TaskShape:
    """Return one task as surfaces show it."""
    return task_shapes(tx, access, [task])[0]


def task_shapes(tx: Tx, access: Access, tasks: list[Task]) -> list[TaskShape]:
    """Return tasks as surfaces show them."""
    ids = [task.id for task in tasks]
    assignees, dependencies = store.assignees_of(tx, access, ids), store.dependencies_of(tx, access, ids)
    return [
        TaskShape.of(
            task,
            position=task.sort_index,
            dependencies=dependencies.get(task.id, []),
            priority_label=PRIORITIES[task.priority - 1],
            assigned_user_ids=[party.party_id for party in assignees.get(task.id, []) if party.kind == "user"],
            assigned_agent_ids=[party.party_id for party in assignees.get(task.id, []) if party.kind == "agent"],
        )
        for task in tasks
    ]


def thread_messages(tx: Tx, access: Access, entries: Iterable[Entry]) -> list[ThreadMessage]:
    kept = list(entries)
    named = tuple(name for entry in kept for name in entry.attachment_ids)
    files = {file.id: file for file in attachment_heads(tx, access, named)} if named else {}
    return [
        ThreadMessage.of(
            entry,
            author_id=author_id(entry),
            author_name=author_name(tx, access, entry),
            mentions=[MentionShape(**each) for each in (entry.details or {}).get("mentions", [])],
            attachments=[files[name] for name in entry.attachment_ids if name in files],
        )
        for entry in kept
    ]


def author_id(entry: Entry) -> str:
    return entry.author if entry.author_kind == "agent" else str(entry.provenance.actor or entry.author)


def author_name(tx: Tx, access: Access, entry: Entry) -> str:
    """Return the name of an entry's author: the current one, else the name at that time."""
    kind, unknown = ("agent", "an agent") if entry.author_kind == "agent" else ("user", "a person")
    told = (entry.details or {}).get("authorName")
    return directory_of(tx, access).name_of(kind, author_id(entry)) or (told if isinstance(told, str) else unknown)


def activity_shape(entry: Entry) -> Activity:
    details = entry.details or {}
    return Activity.of(
        entry,
        type=details["activity"],
        actor_kind=entry.author_kind,
        actor_id=author_id(entry),
        summary=entry.content,
        data=details["data"],
    )

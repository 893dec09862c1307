"""Tasks, threads and activities as every surface shows them."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from carrel.journal import Entry
from carrel.kernel import Access, iso
from carrel.records import AttachmentHead, attachment_heads
from carrel.storage import Tx
from carrel.topics import PRIORITIES
from carrel.work import store
from carrel.work.directory import Directory, first_name
from carrel.work.model import BoardStatus, CreatedBy, Party, PartyKind, Status, Task

ActivityType = Literal["created", "moved", "assigned", "unassigned", "updated", "message", "run", "session"]


class Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """A value with camelCase names on the wire."""


class TaskShape(Shape, frozen=True, kw_only=True):
    """A task."""

    id: str
    space_id: str
    topic_id: str | None
    goal_id: str | None
    plan_id: str | None
    parent_id: str | None
    task_index: int | None
    dependencies: list[str]
    title: str
    description: str
    status: Status
    board_status: BoardStatus
    blocked_reason: str | None
    priority: int
    priority_label: str
    assigned_user_ids: list[str]
    assigned_agent_ids: list[str]
    tags: list[str]
    due_date: str | None
    snoozed_until: str | None
    pinned: bool
    color: str | None
    sort_index: float
    digest: str | None
    digest_updated_at: str | None
    metadata: dict[str, Any]
    created_by: CreatedBy
    created_at: str
    updated_at: str
    last_message_at: str | None
    archived_at: str | None


class MentionShape(Shape, frozen=True, kw_only=True):
    """Somebody who is mentioned in a message."""

    kind: PartyKind
    id: str


class FileShape(Shape, frozen=True, kw_only=True):
    """A file that came with a message."""

    id: str
    file_name: str
    mime_type: str
    size_bytes: int
    sha256: str


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
    """Something that was done to a task."""

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
    return [_task(task, assignees.get(task.id, []), dependencies.get(task.id, [])) for task in tasks]


def _task(task: Task, assignees: list[Party], dependencies: list[str]) -> TaskShape:
    return TaskShape(
        id=task.id,
        space_id=task.space_id,
        topic_id=task.topic_id,
        goal_id=task.goal_id,
        plan_id=task.plan_id,
        parent_id=task.parent_id,
        task_index=task.task_index,
        dependencies=dependencies,
        title=task.title,
        description=task.description,
        status=task.status,
        board_status=task.board_status,
        blocked_reason=task.blocked_reason,
        priority=task.priority,
        priority_label=PRIORITIES[task.priority - 1],
        assigned_user_ids=[party.party_id for party in assignees if party.kind == "user"],
        assigned_agent_ids=[party.party_id for party in assignees if party.kind == "agent"],
        tags=list(task.tags),
        due_date=iso(task.due_date),
        snoozed_until=iso(task.snoozed_until),
        pinned=task.pinned,
        color=task.color,
        sort_index=task.sort_index,
        digest=task.digest,
        digest_updated_at=iso(task.digest_updated_at),
        metadata=task.metadata,
        created_by=task.created_by,
        created_at=iso(task.created_at) or "",
        updated_at=iso(task.updated_at) or "",
        last_message_at=iso(task.last_message_at),
        archived_at=iso(task.archived_at),
    )


def thread_messages(tx: Tx, access: Access, entries: Iterable[Entry], directory: Directory) -> list[ThreadMessage]:
    """Return entries of a thread as messages."""
    kept = list(entries)
    named = tuple(name for entry in kept for name in entry.attachment_ids)
    files = {file.id: file for file in attachment_heads(tx, access, named)} if named else {}
    return [
        ThreadMessage(
            id=entry.id,
            seq=entry.seq,
            role=entry.role,
            author_kind=entry.author_kind,
            author_id=author_id(entry),
            author_name=author_name(entry, directory),
            content=entry.content,
            mentions=[MentionShape(**each) for each in (entry.details or {}).get("mentions", [])],
            attachments=[file_shape(file) for name in entry.attachment_ids if (file := files.get(name)) is not None],
            run_id=entry.run_id,
            created_at=iso(entry.created_at) or "",
        )
        for entry in kept
    ]


def file_shape(file: AttachmentHead) -> FileShape:
    """Return a file as surfaces show it."""
    return FileShape(
        id=file.id, file_name=file.name, mime_type=file.mime_type, size_bytes=file.size_bytes, sha256=file.sha256
    )


def author_id(entry: Entry) -> str:
    """Return the id of who wrote an entry."""
    return entry.author if entry.author_kind == "agent" else str(entry.provenance.actor or entry.author)


def author_name(entry: Entry, directory: Directory) -> str:
    """Return the name of who wrote an entry: the present one, else that of the time."""
    kind: PartyKind = "agent" if entry.author_kind == "agent" else "user"
    told = (entry.details or {}).get("authorName")
    return directory.name_of(kind, author_id(entry)) or (told if isinstance(told, str) else first_name(kind))


def activity_shape(entry: Entry) -> Activity:
    """Return an entry of a task's activities."""
    details = entry.details or {}
    return Activity(
        id=entry.id,
        seq=entry.seq,
        type=details["activity"],
        actor_kind=entry.author_kind,
        actor_id=author_id(entry),
        summary=entry.content,
        data=details["data"],
        created_at=iso(entry.created_at) or "",
    )

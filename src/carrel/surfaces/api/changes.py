"""What has changed since a sequence number, for clients that poll."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from carrel.access import SpaceScope, SpaceShape, space_shapes
from carrel.journal import Event, sequence_at
from carrel.kernel import Access, Shape
from carrel.kernel.fields import Moment
from carrel.kernel.limits import CHANGES_ROWS_DEFAULT, CHANGES_ROWS_MAX, PAGE_BYTES_MAX, PAGE_ROWS_AT_A_TIME
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import Call, endpoint
from carrel.surfaces.api.scope import Scoped, scope_of
from carrel.topics import TopicShape
from carrel.work import TaskShape, task_shapes, visible_changes

Value = TypeVar("Value", bound=Struct)


class ChangesQuery(Scoped, frozen=True, kw_only=True):
    """Since when, how many of each kind at most, and in which spaces."""

    since_seq: Annotated[int, Meta(ge=0, lt=1 << 62)] | UnsetType = UNSET
    since: Moment | UnsetType = UNSET
    limit: int | None = None
    include_raw: str = "0"


class Departed(Shape, frozen=True, kw_only=True):
    """Ids of what left the caller's view."""

    topics: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)


class Deleted(Departed, frozen=True, kw_only=True):
    """Ids of what was deleted; sessions by their keys."""

    spaces: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)


class Changes(Shape, frozen=True, kw_only=True):
    """Everything new up to `seq`, which is the next `sinceSeq` to send."""

    seq: int
    more: bool
    reset: bool
    spaces: list[SpaceShape]
    topics: list[TopicShape]
    tasks: list[TaskShape]
    logs: list[dict[str, Any]]
    deleted: Deleted
    deleted_log_ids: list[str]
    left: Departed


@endpoint("GET", "/api/changes", tool="clawboard_get_log")
def list_changes(call: Call[None, ChangesQuery], tx: LongTx, access: Access) -> Changes:
    """List what has changed since a sequence number; `reset` tells the client to start over."""
    query, limit = call.query, clamp(call.query.limit, CHANGES_ROWS_DEFAULT, CHANGES_ROWS_MAX)
    scope = scope_of(tx, access, query)
    found = some = _some(tx, access, _cursor(tx, access, query), min(limit, PAGE_ROWS_AT_A_TIME), scope)
    size = 0
    # A few at a time, because they may be large.
    for read in range(PAGE_ROWS_AT_A_TIME, limit, PAGE_ROWS_AT_A_TIME):
        size += len(msgspec.json.encode(some))
        if not found.more or size > PAGE_BYTES_MAX:
            break
        some = _some(tx, access, found.seq, min(limit - read, PAGE_ROWS_AT_A_TIME), scope)
        if some.reset:
            break
        found = _joined(found, some)
    return found


def _some(tx: Tx, access: Access, after: int, limit: int, scope: SpaceScope) -> Changes:
    seen = visible_changes(tx, access, after, limit=limit, scope=scope)
    page, deleted = seen.page, _deleted(seen.page.deletions)
    return Changes.of(
        page,
        spaces=space_shapes(tx, access, seen.spaces),
        topics=[TopicShape.of(topic) for topic in seen.topics],
        tasks=task_shapes(tx, access, seen.tasks),
        logs=[entry.wire() for entry in page.entries],
        deleted=deleted,
        deleted_log_ids=deleted.logs,
        left=Departed(topics=seen.left_topics, tasks=seen.left_tasks, logs=seen.left_entries),
    )


def _joined(one: Value, next_one: Value) -> Value:
    """Return two pages as one: lists joined, other fields from the later page, except `reset`."""
    fields: dict[str, Any] = {}
    for name in one.__struct_fields__:
        before, after = getattr(one, name), getattr(next_one, name)
        if isinstance(before, list):
            fields[name] = before + after
        else:
            fields[name] = _joined(before, after) if isinstance(before, Struct) else after
    return structs.replace(one, **fields | ({"reset": one.reset} if isinstance(one, Changes) else {}))


def _deleted(events: list[Event]) -> Deleted:
    def named(name: str, id_of: Callable[[Event], str | None]) -> list[str]:
        return [*dict.fromkeys(found for event in events if event.name == name and (found := id_of(event)))]

    return Deleted(
        spaces=named("space.deleted", lambda event: event.space_id),
        topics=named("topic.deleted", lambda event: event.topic_id),
        tasks=named("task.deleted", lambda event: event.task_id),
        logs=named("log.deleted", lambda event: msgspec.json.decode(event.body)["id"]),
        sessions=named("session.deleted", lambda event: event.key),
    )


def _cursor(tx: Tx, access: Access, query: ChangesQuery) -> int:
    if query.since_seq is not UNSET:
        return query.since_seq
    return 0 if query.since is UNSET else sequence_at(tx, access, query.since)

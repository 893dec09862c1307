"""What has changed since a sequence number, for clients that poll."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from carrel.journal import changes_since, sequence_at
from carrel.kernel import Access
from carrel.kernel.limits import CHANGES_ROWS_DEFAULT, CHANGES_ROWS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, read_moment
from carrel.surfaces.api.endpoint import Call, In, Out, endpoint
from carrel.surfaces.api.fields import Moment
from carrel.surfaces.api.stream import in_default_space
from carrel.work import TaskShape, task_shapes, visible_changes


class ChangesQuery(In, frozen=True, kw_only=True):
    """Since when, and how many entries at most."""

    since_seq: Annotated[int, Meta(ge=0, lt=1 << 62)] | UnsetType = UNSET
    since: Moment | UnsetType = UNSET
    limit: int | None = None
    include_raw: str = "0"
    session_key: str | UnsetType = UNSET
    space_id: str | UnsetType = UNSET
    allowed_space_ids: str | UnsetType = UNSET


class Deleted(Out, frozen=True, kw_only=True):
    """Ids of what was deleted; sessions by their keys."""

    spaces: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)


class Departed(Out, frozen=True, kw_only=True):
    """Ids of what left the caller's view."""

    topics: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)


class Changes(Out, frozen=True, kw_only=True):
    """Everything new up to `seq`, which is the next `sinceSeq` to send."""

    seq: int
    more: bool
    reset: bool
    spaces: list[dict[str, Any]]
    topics: list[dict[str, Any]]
    tasks: list[TaskShape]
    logs: list[dict[str, Any]]
    deleted: Deleted
    deleted_log_ids: list[str]
    left: Departed


@endpoint("GET", "/api/changes", answers={200: Changes}, query=ChangesQuery)
async def list_changes(call: Call[None, ChangesQuery]) -> Changes:
    """List what has changed since a sequence number; `reset` tells the client to start over."""
    query, limit = call.query, clamp(call.query.limit, CHANGES_ROWS_DEFAULT, CHANGES_ROWS_MAX)

    def work(tx: Tx, access: Access) -> Changes:
        after = _cursor(tx, access, query)
        seen = visible_changes(tx, access, changes_since(tx, access, after, limit=limit), after, limit=limit)
        page, inside = seen.page, in_default_space(query.space_id, query.allowed_space_ids)
        gone = dict.fromkeys(event.key for event in page.deletions if event.key is not None)
        deleted = Deleted(sessions=list(gone))
        return Changes(
            seq=page.seq,
            more=page.more,
            reset=page.reset,
            spaces=[],
            topics=[],
            tasks=task_shapes(tx, access, seen.tasks) if inside else [],
            logs=[entry.wire() for entry in page.entries] if inside else [],
            deleted=deleted,
            deleted_log_ids=deleted.logs,
            left=Departed(tasks=seen.left if inside else []),
        )

    return await call.read(work)


def _cursor(tx: Tx, access: Access, query: ChangesQuery) -> int:
    moment = None if query.since is UNSET else read_moment("since", query.since)
    if query.since_seq is not UNSET:
        return query.since_seq
    return 0 if moment is None else sequence_at(tx, access, moment)

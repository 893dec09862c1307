"""What has changed since a sequence number, for clients that poll."""

from typing import Any

from msgspec import UNSET, UnsetType, field

from carrel.journal import (
    Entry,
    deletions_between,
    entries_since,
    first_entry_since,
    first_event_since,
    newest_entries,
    newest_event,
    pruned_event,
)
from carrel.kernel import Access, invalid
from carrel.kernel.limits import CHANGES_ROWS_DEFAULT, CHANGES_ROWS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, read_moment
from carrel.surfaces.api.endpoint import Ask, In, Out, endpoint
from carrel.surfaces.api.stream import in_default_space


class ChangesQuery(In, frozen=True, kw_only=True):
    """Since when, and how many entries at most."""

    since_seq: int | UnsetType = UNSET
    since: str | UnsetType = UNSET
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
    tasks: list[dict[str, Any]]
    logs: list[dict[str, Any]]
    deleted: Deleted
    deleted_log_ids: list[str]
    left: Departed


@endpoint("GET", "/api/changes", answers={200: Changes}, query=ChangesQuery)
async def list_changes(ask: Ask[None, ChangesQuery]) -> Changes:
    """List what has changed since a sequence number; `reset` tells the client to start over."""
    limit = clamp(ask.query.limit, CHANGES_ROWS_DEFAULT, CHANGES_ROWS_MAX)
    return await ask.read(lambda tx, access: _changes(tx, access, ask.query, limit))


def _changes(tx: Tx, access: Access, query: ChangesQuery, limit: int) -> Changes:
    # Read first: whatever is numbered up to here is there now and stays, whatever is written meanwhile.
    newest = newest_event(tx, access)
    after = _cursor(tx, access, query)
    if after > newest or after < pruned_event(tx, access):
        return _present(tx, access, query, newest, limit)
    found = [entry for entry in entries_since(tx, access, after, limit=limit + 1) if entry.seq <= newest]
    more = len(found) > limit
    upto = found[limit - 1].seq if more else newest
    return _answer(access, query, found[:limit], upto, more=more, deleted=_deleted(tx, access, after, upto))


def _present(tx: Tx, access: Access, query: ChangesQuery, newest: int, limit: int) -> Changes:
    """The newest page of what there is: a cursor from before the kept events could not be followed any further."""
    return _answer(access, query, newest_entries(tx, access, newest, limit=limit), newest, more=False, reset=True)


def _answer(
    access: Access,
    query: ChangesQuery,
    entries: list[Entry],
    seq: int,
    *,
    more: bool,
    reset: bool = False,
    deleted: Deleted | None = None,
) -> Changes:
    shown = entries if in_default_space(query.space_id, query.allowed_space_ids) else []
    seen = [entry.wire() for entry in shown if _in_view(access, entry.agent_id, entry.key)]
    deleted = deleted or Deleted()
    return Changes(
        seq=seq,
        more=more,
        reset=reset,
        spaces=[],
        topics=[],
        tasks=[],
        logs=seen,
        deleted=deleted,
        deleted_log_ids=deleted.logs,
        left=Departed(),
    )


def _deleted(tx: Tx, access: Access, after: int, upto: int) -> Deleted:
    found = deletions_between(tx, access, after, upto)
    gone = [event for event in found if _in_view(access, event.agent_id, event.key)]
    keys = [event.key for event in gone if event.key is not None]
    return Deleted(sessions=list(dict.fromkeys(keys)))


def _in_view(access: Access, agent_id: str | None, key: str | None) -> bool:
    return access.agent_id in (None, agent_id) and (access.bound_to is None or str(access.bound_to) == key)


def _cursor(tx: Tx, access: Access, query: ChangesQuery) -> int:
    if query.since_seq is not UNSET:
        if not 0 <= query.since_seq < 1 << 62:
            raise invalid("sinceSeq", "sinceSeq must be the seq of an earlier response.")
        return query.since_seq
    if query.since is UNSET:
        return 0
    moment = read_moment("since", query.since)
    after = first_event_since(tx, access, moment)
    if pruned_event(tx, access) and after <= first_event_since(tx, access, 0):
        # Everything that is kept happened since; what was pruned may have, too.
        return -1
    # An entry is numbered before the event that tells of it.
    return min(after, first_entry_since(tx, access, moment))

"""Reading sessions: lists, a single session, its generations, its transcript and its queue."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from carrel.journal import Entry, entries_of_run, entries_of_session
from carrel.kernel import MS_PER_MINUTE, Access, Shape
from carrel.kernel.limits import HISTORY_ROWS_DEFAULT, HISTORY_ROWS_MAX, ROW_MESSAGES_MAX, SESSION_REFERENCE_CHARS_MAX
from carrel.runs import live_runs_of_lane
from carrel.sessions import LaneFilter, find_lane, generations_of, kinds_listed_as, lane_rows
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.agents import agent_id_of
from carrel.surfaces.api.cursors import PageQuery, clamp, paged
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.sessions.shapes import SessionShape, session_shape, session_shapes, with_windows
from carrel.surfaces.api.shapes import RunShape, run_shapes
from carrel.tools import SessionAccess, SessionHistory, message_shape, session_access, shown_key
from carrel.visibility import VisibilityMode, entries_seen, is_narrowed

Words = Annotated[str, Meta(max_length=SESSION_REFERENCE_CHARS_MAX)]
_encode = msgspec.json.Encoder().encode


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """Which sessions to list."""

    q: Words | None = None
    archived: bool = False
    pinned: bool = False
    kinds: Words | None = None
    agent_id: Words | None = None
    task_id: Words | None = None
    # The session that spawned them.
    spawned_by: Words | None = None
    channel: Words | None = None
    state: Literal["idle", "busy", "closed"] | None = None
    active_minutes: Annotated[float, Meta(ge=1, le=52_560_000)] | None = None
    message_limit: int = 0


class Visibility(Shape, frozen=True, kw_only=True):
    """Whose sessions the list shows, and whether there are others."""

    mode: VisibilityMode
    hidden: bool


class SessionList(Shape, frozen=True, kw_only=True):
    """A page of sessions, newest first."""

    count: int
    sessions: list[SessionShape]
    visibility: Visibility
    next_cursor: str | None


class HistoryQuery(PageQuery, frozen=True, kw_only=True):
    """Which part of a transcript."""

    include_tools: bool = False
    # Only the messages, calls and replies of one run.
    run_id: Words | None = None


class History(SessionHistory, frozen=True, kw_only=True):
    """The newest messages of one generation, oldest first, and a cursor to earlier ones."""

    next_cursor: str | None


class Queue(Shape, frozen=True, kw_only=True):
    """The running run of a lane and its queue."""

    running: RunShape | None
    runs: list[RunShape]


@endpoint("GET", "/api/sessions", tool="sessions_list")
def list_sessions(call: Call[None, SessionsQuery], tx: Tx, access: Access) -> SessionList:
    """List the sessions that the caller may see, most recently used first."""
    query, wanted = call.query, _filter(tx, access, call.query)
    page = paged(
        query, tuple[int, str], lambda before, most: lane_rows(tx, access, wanted, before=before, limit=most),
        lambda row: (row.lane.updated_at, row.lane.key),
    )  # fmt: skip
    shapes = session_shapes(tx, access, page.items, clamp(query.message_limit, 0, ROW_MESSAGES_MAX, 0))
    shapes = with_windows(tx, access, shapes, call.services.connections)
    visibility = Visibility(mode=access.view.mode if access.view else "all", hidden=is_narrowed(tx, access))
    return SessionList.of(page, count=len(shapes), sessions=shapes, visibility=visibility)


def _filter(tx: Tx, access: Access, query: SessionsQuery) -> LaneFilter:
    return LaneFilter(
        q=query.q,
        archived=query.archived,
        pinned=query.pinned,
        kinds=kinds_listed_as([word.strip() for word in (query.kinds or "").split(",")]),
        agent_id=agent_id_of(tx, access, query.agent_id),
        task_id=query.task_id,
        spawned_by=query.spawned_by,
        channel=query.channel,
        state=query.state,
        updated_since=None if query.active_minutes is None else tx.now - int(query.active_minutes * MS_PER_MINUTE),
    )


@endpoint("GET", "/api/sessions/{key}", "session", tool="session_status")
def read_session(call: Call[None, NoQuery], tx: Tx, access: Access) -> SessionShape:
    """Get a session: the generation that is named, else the open one, else the newest."""
    shape = session_shape(tx, access, *find_lane(tx, access, call.path("key")))
    return with_windows(tx, access, [shape], call.services.connections)[0]


@endpoint("GET", "/api/sessions/{key}/generations", "sessions", tool="session_status")
def read_generations(call: Call[None, NoQuery], tx: Tx, access: Access) -> list[SessionShape]:
    """List the stored generations of a session, newest first."""
    lane, _ = find_lane(tx, access, call.path("key"))
    return [session_shape(tx, access, lane, session) for session in generations_of(tx, access, lane.key)]


@endpoint("GET", "/api/sessions/{key}/history", tool="sessions_history")
def read_history(call: Call[None, HistoryQuery], tx: LongTx, access: Access) -> History:
    """Get the transcript of a generation: its newest messages, oldest first."""
    query = call.query
    lane, session = find_lane(tx, access, call.path("key"))

    def newest(at: tuple[int, ...] | None, most: int) -> list[Entry]:
        if session is None:
            return []
        below = at[0] if at else None
        if query.run_id is not None:
            return _newest_of_run(tx, access, session.id, query, before=below)[:most]
        return entries_of_session(
            tx, access, session.id, limit=most, before=below, tool_results=query.include_tools
        )[::-1]  # fmt: skip

    page = paged(query, tuple[int], newest, lambda entry: (entry.seq,), HISTORY_ROWS_DEFAULT, HISTORY_ROWS_MAX)
    seen = entries_seen(tx, access, [entry.id for entry in page.items])
    entries = [entry for entry in page.items[::-1] if entry.id in seen]
    redacted = not access.is_person
    messages = [message_shape(entry, redacted=redacted) for entry in entries]
    return History(
        session_key=shown_key(access.agent_id, lane.session_key),
        session_id=session.id if session else None,
        messages=messages,
        truncated=False,
        dropped_messages=0,
        content_truncated=False,
        content_redacted=redacted and messages != [message_shape(entry, redacted=False) for entry in entries],
        bytes=len(_encode(messages)),
        next_cursor=page.next_cursor,
    )


def _newest_of_run(tx: Tx, access: Access, session_id: str, query: HistoryQuery, *, before: int | None) -> list[Entry]:
    """Return a run's entries in a generation, newest first; results of tools only on request."""
    return [
        entry
        for entry in reversed(entries_of_run(tx, access, query.run_id or ""))
        if entry.session_id == session_id
        and (before is None or entry.seq < before)
        and (query.include_tools or entry.role != "toolResult")
    ]


@endpoint("GET", "/api/sessions/{key}/queue", tool="session_status")
def read_queue(call: Call[None, NoQuery], tx: Tx, access: Access) -> Queue:
    """Get the running run of a session and its queue, in order."""
    lane, _ = find_lane(tx, access, call.path("key"))
    live = live_runs_of_lane(tx, access, lane.key)
    running = run_shapes(tx, access, [run for run in live if run.state == "running"])
    queued = run_shapes(tx, access, [run for run in live if run.state == "queued"])
    return Queue(running=running[0] if running else None, runs=queued)


@endpoint("GET", "/api/sessions/{key}/access", tool="session_status")
def read_access(call: Call[None, NoQuery], tx: LongTx, access: Access) -> SessionAccess:
    """Get what a session may read: the sessions its agent sees from there, and the calls that rules refused."""
    return session_access(tx, call.services.tool_services, access, find_lane(tx, access, call.path("key"))[0])

"""The active session of a browser, terminal or chat, and its recent ones."""

from typing import Literal

from carrel.chats import PointedSession, active_session, move_pointer
from carrel.kernel import PEOPLE, Access, invalid
from carrel.kernel.limits import RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX
from carrel.sessions import LaneFilter, find_lane, lane_rows
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, endpoint
from carrel.surfaces.api.fields import Reference
from carrel.surfaces.api.sessions.changes import Channel, ClientId
from carrel.surfaces.api.sessions.reads import Sessions
from carrel.surfaces.api.sessions.shapes import session_shapes


class ActiveQuery(In, frozen=True, kw_only=True):
    """Which client asks."""

    channel_type: Channel = "web"
    client_instance_id: ClientId = ""


class RecentQuery(ActiveQuery, frozen=True, kw_only=True):
    """Which client asks, and for how many."""

    limit: int | None = None


class ActiveChoice(In, frozen=True, kw_only=True):
    """The session to make active."""

    channel_type: Channel = "web"
    client_instance_id: ClientId
    session_id: Reference


class ActiveSession(Out, frozen=True, kw_only=True):
    """The active session of a client, and how it was found."""

    session_id: str
    session_key: str
    source: Literal["pointer", "repaired", "default"]


@endpoint("GET", "/api/sessions/active", answers={200: ActiveSession}, query=ActiveQuery)
async def read_active(call: Call[None, ActiveQuery]) -> ActiveSession:
    """Get the active session of a client; if there is none, a new key that its first message will create."""
    query, settings = call.query, call.house.settings.sessions
    _require_name(query.channel_type, query.client_instance_id)
    found = await call.read(
        lambda tx, access: active_session(tx, access, settings, query.channel_type, query.client_instance_id)
    )
    return _shown(found)


@endpoint("POST", "/api/sessions/active", answers={200: ActiveSession}, who=PEOPLE, body=ActiveChoice)
async def choose_active(call: Call[ActiveChoice, NoQuery]) -> ActiveSession:
    """Make a session the active one of a client."""
    choice, settings = call.body, call.house.settings.sessions
    _require_name(choice.channel_type, choice.client_instance_id)

    def work(tx: Tx, access: Access) -> PointedSession:
        lane, _ = find_lane(tx, access, choice.session_id)
        move_pointer(tx, access, choice.channel_type, choice.client_instance_id, lane, "chosen")
        return active_session(tx, access, settings, choice.channel_type, choice.client_instance_id)

    return _shown(await call.write(work))


@endpoint("GET", "/api/sessions/recent", answers={200: Sessions}, query=RecentQuery)
async def read_recent(call: Call[None, RecentQuery]) -> Sessions:
    """List the caller's latest chats on a channel, newest first."""
    limit = clamp(call.query.limit, RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX)

    def work(tx: Tx, access: Access) -> Sessions:
        filters = LaneFilter(kinds=("chat",), made_by=access.actor_id, channel=call.query.channel_type)
        rows = lane_rows(tx, access, filters, before=None, limit=limit)
        return Sessions(sessions=session_shapes(tx, access, rows, 0))

    return await call.read(work)


def _require_name(channel: str, client_instance_id: str) -> None:
    if channel == "web" and not client_instance_id:
        raise invalid("clientInstanceId", "A browser must identify itself: send clientInstanceId.")


def _shown(found: PointedSession) -> ActiveSession:
    return ActiveSession(session_id=found.key.conversation, session_key=str(found.key), source=found.source)

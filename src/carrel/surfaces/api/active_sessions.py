"""The active session of a browser, terminal or chat, and its recent ones."""

from typing import Literal

from carrel.chats import active_session, move_pointer
from carrel.kernel import PEOPLE, Access, Input, invalid
from carrel.kernel.limits import RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX
from carrel.sessions import LaneFilter, find_lane, lane_rows
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.session_ids import Reference
from carrel.surfaces.api.sessions.changes import Channel, ClientId, SessionNamed
from carrel.surfaces.api.sessions.shapes import SessionShape, session_shapes
from carrel.surfaces.http.services import Services


class ActiveQuery(Input, frozen=True, kw_only=True):
    """Which client asks."""

    channel_type: Channel = "web"
    client_instance_id: ClientId = ""


class RecentQuery(ActiveQuery, frozen=True, kw_only=True):
    """Which client asks, and for how many."""

    limit: int | None = None


class ActiveChoice(ActiveQuery, frozen=True, kw_only=True):
    """The session to make active."""

    client_instance_id: ClientId
    session_id: Reference


class ActiveSession(SessionNamed, frozen=True, kw_only=True):
    """The active session of a client, and how it was found."""

    source: Literal["pointer", "repaired", "default"]


@endpoint("GET", "/api/sessions/active")
def read_active(call: Call[None, ActiveQuery], tx: Tx, access: Access) -> ActiveSession:
    """Get the active session of a client; if there is none, a new key that its first message will create."""
    return _active(call.services, call.query, tx, access)


@endpoint("POST", "/api/sessions/active", who=PEOPLE)
def choose_active(call: Call[ActiveChoice, NoQuery], tx: Tx, access: Access) -> ActiveSession:
    """Make a session the active one of a client."""
    choice = call.body
    _require_name(choice)
    lane, _ = find_lane(tx, access, choice.session_id)
    move_pointer(tx, access, choice.channel_type, choice.client_instance_id, lane, "chosen")
    return _active(call.services, choice, tx, access)


@endpoint("GET", "/api/sessions/recent", "sessions", tool="sessions_list")
def read_recent(call: Call[None, RecentQuery], tx: Tx, access: Access) -> list[SessionShape]:
    """List the caller's latest chats on a channel, newest first."""
    limit = clamp(call.query.limit, RECENT_SESSIONS_DEFAULT, RECENT_SESSIONS_MAX)
    filters = LaneFilter(kinds=("chat",), made_by=access.actor_id, channel=call.query.channel_type)
    return session_shapes(tx, access, lane_rows(tx, access, filters, before=None, limit=limit), 0)


def _require_name(client: ActiveQuery) -> None:
    if client.channel_type == "web" and not client.client_instance_id:
        raise invalid("clientInstanceId", "A browser must identify itself: send clientInstanceId.")


def _active(services: Services, client: ActiveQuery, tx: Tx, access: Access) -> ActiveSession:
    _require_name(client)
    found = active_session(tx, access, services.settings.sessions, client.channel_type, client.client_instance_id)
    return ActiveSession(session_id=found.key.conversation, session_key=str(found.key), source=found.source)

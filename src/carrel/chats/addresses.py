"""Which session a chat message is for: the one it names, else the one its transport points to."""

from msgspec import Struct

from carrel.agents import named_agent
from carrel.chats.pointers import PointedSession, chosen_key, fresh_key, pointed_session
from carrel.kernel import Access, SessionKey, clip, one_line, redact
from carrel.kernel.limits import CHAT_TITLE_CHARS_MAX
from carrel.kernel.settings import SessionsSettings
from carrel.sessions import LaneChange, change_lane, find_session, lane_of, parse_reference, visible_lanes_called
from carrel.storage import Tx
from carrel.visibility import PERSONAL_KINDS


class ChatAddress(Struct, frozen=True, kw_only=True):
    """Everything in a chat message about its session; all optional but the channel."""

    channel: str
    client_instance_id: str | None = None
    reference: str | None = None
    agent: str | None = None


def chat_session(tx: Tx, access: Access, settings: SessionsSettings, address: ChatAddress) -> SessionKey:
    """Return the lane a message is for, whether or not it exists. Writes nothing."""
    if address.reference is not None:
        return shared_key(settings, _named(tx, access, address, address.reference))
    if address.channel != "web" or address.client_instance_id:
        found = active_session(tx, access, settings, address.channel, address.client_instance_id or "")
        if address.agent is None or named_agent(tx, access, address.agent).id == found.key.agent:
            return found.key
    # The message names another agent, or its browser has no id.
    return shared_key(settings, fresh_key(tx, access, address.channel, address.agent))


def active_session(
    tx: Tx, access: Access, settings: SessionsSettings, channel: str, client_instance_id: str
) -> PointedSession:
    """Return the session of a transport; with `sessions.scope = "global"`, the shared one."""
    found = pointed_session(tx, access, channel, client_instance_id)
    return PointedSession(shared_key(settings, found.key), found.source)


def name_chat(tx: Tx, access: Access, key: SessionKey, text: str) -> None:
    """Name a new chat after its first message, which says more than its key."""
    lane = lane_of(tx, access, key)
    if lane is None or key.kind != "chat" or lane.generation or lane.display_name or lane.label:
        return
    if title := clip(one_line(redact(text)), CHAT_TITLE_CHARS_MAX):
        change_lane(tx, access, key, LaneChange(display_name=title))


def shared_key(settings: SessionsSettings, key: SessionKey) -> SessionKey:
    """Return the key itself, or the agent's main lane if `sessions.scope` merges its direct chats."""
    return SessionKey.of(key.agent, "main") if settings.scope == "global" and key.kind in PERSONAL_KINDS else key


def _named(tx: Tx, access: Access, address: ChatAddress, reference: str) -> SessionKey:
    name = parse_reference(reference).bare
    if name is None or (address.agent is None and visible_lanes_called(tx, access, name)):
        return find_session(tx, access, reference).key
    return chosen_key(tx, access, address.channel, name, address.agent)

"""Which session a chat line is for: the one it names, else the one its transport has in front of it."""

from msgspec import Struct

from carrel.agents import named_agent
from carrel.kernel import Access, SessionKey, clip, one_line, redact
from carrel.kernel.limits import CHAT_TITLE_CHARS_MAX
from carrel.kernel.settings import SessionsSettings
from carrel.sessions import store
from carrel.sessions.generations import change_lane
from carrel.sessions.model import LaneChange
from carrel.sessions.pointers import Active, active, chosen_key, fresh_key
from carrel.sessions.references import parse_reference
from carrel.sessions.routing import find_session
from carrel.storage import Tx

# The lanes that are one person's chat with one agent.
_DIRECT = ("chat", "direct")


class ChatAddress(Struct, frozen=True, kw_only=True):
    """What a chat line says of where it belongs; every part but the channel may be missing."""

    channel: str
    client_instance_id: str | None = None
    reference: str | None = None
    agent: str | None = None


def chat_session(tx: Tx, access: Access, settings: SessionsSettings, address: ChatAddress) -> SessionKey:
    """The lane a line is for, made or not. Reads only."""
    if address.reference is not None:
        return shared_key(settings, _named(tx, access, address, address.reference))
    return _in_front(tx, access, settings, address).key


def active_session(tx: Tx, access: Access, settings: SessionsSettings, channel: str, client_instance_id: str) -> Active:
    """The session in front of a transport; the shared one where all chats are one."""
    found = active(tx, access, channel, client_instance_id)
    key = shared_key(settings, found.key)
    return found if key == found.key else Active(key, found.source, made=store.lane_of(tx, access, key) is not None)


def name_chat(tx: Tx, access: Access, key: SessionKey, text: str) -> None:
    """Let a chat that nobody has named bear its first words, which tell more than its key."""
    lane = store.lane_of(tx, access, key)
    if lane is None or key.kind != "chat" or lane.generation or lane.display_name or lane.label:
        return
    title = clip(one_line(redact(text)), CHAT_TITLE_CHARS_MAX)
    if title:
        change_lane(tx, access, key, LaneChange(display_name=title))


def shared_key(settings: SessionsSettings, key: SessionKey) -> SessionKey:
    """The key itself, or where all direct chats of an agent are one the agent's main lane."""
    return SessionKey.of(key.agent, "main") if settings.scope == "global" and key.kind in _DIRECT else key


def _named(tx: Tx, access: Access, address: ChatAddress, reference: str) -> SessionKey:
    name = parse_reference(reference).bare
    if name is None:
        return find_session(tx, access, reference).key
    if address.agent is None and store.lanes_by_conversation(tx, access, name):
        return find_session(tx, access, reference).key
    return chosen_key(tx, access, address.channel, name, address.agent)


def _in_front(tx: Tx, access: Access, settings: SessionsSettings, address: ChatAddress) -> Active:
    """The transport's session, unless the line asks for another agent or its browser does not say which it is."""
    if address.channel != "web" or address.client_instance_id:
        found = active_session(tx, access, settings, address.channel, address.client_instance_id or "")
        if address.agent is None or named_agent(tx, access, address.agent).id == found.key.agent:
            return found
    fresh = fresh_key(tx, access, address.channel, address.agent)
    return Active(shared_key(settings, fresh), "default", made=False)

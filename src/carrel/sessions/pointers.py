"""Pointers: which conversation a transport (a browser, a chat) has in front of it. Everything said there goes to it."""

from typing import Literal

from msgspec import Struct

from carrel.agents import default_agent, named_agent
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, SessionKey, is_conversation_key, is_new_conversation_key
from carrel.sessions import chat_address_store, store
from carrel.sessions.model import Lane
from carrel.sessions.visibility import require_visible
from carrel.storage import Tx

Source = Literal["pointer", "repaired", "default"]


class Active(Struct, frozen=True):
    """The session in front of a transport, and how it was found.

    `made` is False for one that its first line will make.
    """

    key: SessionKey
    source: Source
    made: bool


def transport_name(access: Access, channel: str, client_instance_id: str) -> str:
    """The name of a transport; a browser or terminal belongs to its user, a Telegram chat to whoever is in it."""
    return f"{channel}|{'' if channel == 'telegram' else access.actor_id}|{client_instance_id or '_'}"


def active(tx: Tx, access: Access, channel: str, client_instance_id: str) -> Active:
    """The session a transport points to. Reads only: where there is none it names one that does not exist yet."""
    pointed = store.pointer(tx, access, transport_name(access, channel, client_instance_id))
    if pointed is not None:
        lane = store.lane_of(tx, access, SessionKey.stored(pointed))
        if lane is not None and lane.archived_at is None:
            return Active(lane.session_key, "pointer", made=True)
        recent = store.newest_chat(tx, access, channel, access.actor_id, but=pointed)
        if recent is not None:
            return Active(SessionKey.stored(recent), "repaired", made=True)
    key = fresh_key(tx, access, channel, None)
    return Active(key, "repaired" if pointed is not None else "default", made=False)


def pointed_lane(tx: Tx, access: Access, channel: str, client_instance_id: str) -> Lane | None:
    """The lane that a transport was put in front of and that still can be spoken in."""
    pointed = store.pointer(tx, access, transport_name(access, channel, client_instance_id))
    lane = None if pointed is None else store.lane_of(tx, access, SessionKey.stored(pointed))
    # A sub-agent is put away when it is idle, and comes back when somebody speaks in its place.
    is_there = lane is not None and (lane.archived_at is None or lane.kind == "subagent")
    return lane if is_there else None


def fresh_key(tx: Tx, access: Access, channel: str, agent: str | None) -> SessionKey:
    """A conversation key that nobody has."""
    agent_id = named_agent(tx, access, agent).id if agent else default_agent(tx, access).id
    return SessionKey.of(agent_id, f"{channel}:{tx.new_id('c').replace('_', '-')}")


def chosen_key(tx: Tx, access: Access, channel: str, conversation: str, agent: str | None) -> SessionKey:
    """The key for a conversation key of the client's choosing; a short one only where it already exists."""
    agent_id = named_agent(tx, access, agent).id if agent else default_agent(tx, access).id
    if not is_conversation_key(conversation):
        raise _malformed()
    key = SessionKey.of(agent_id, f"{channel}:{conversation}")
    lane = store.lane_of(tx, access, key)
    if lane is None:
        require_makeable(key)
    else:
        require_visible(access, lane)
    return key


def require_makeable(key: SessionKey) -> None:
    """Refuse to make a chat under a key that none may be made under today; old ones stay usable."""
    if key.kind == "chat" and not is_new_conversation_key(key.conversation):
        raise _malformed()


def _malformed() -> Refusal:
    return Refusal(
        Code.INVALID_CONVERSATION_KEY,
        "A new conversation key has 8 to 64 letters, digits, _ or - and does not begin with ses_.",
        field="conversationKey",
    )


def point(tx: Tx, access: Access, channel: str, client_instance_id: str, lane: Lane, source: str) -> None:
    """Let a transport point to a lane; pointing where it points already changes nothing."""
    transport = transport_name(access, channel, client_instance_id)
    before = store.pointer(tx, access, transport)
    if before == lane.key:
        return
    store.set_pointer(tx, access, transport, lane.key)
    METRICS.count("sessions.switch.count", channel=channel)
    body = {"channelType": channel, "from": before, "to": lane.key, "source": source}
    append_event(tx, access, "pointer.changed", about_lane(lane.session_key), json_text(body))


def repair(tx: Tx, access: Access, lane: Lane) -> None:
    """Before a lane goes: whoever points to it points to the most recent other one of the same maker, or to nothing."""
    channel = lane.session_key.channel or ""
    for transport in store.transports_to(tx, access, lane.key):
        if transport.startswith("telegram|"):
            # Others may read along there: what was never said at that place must not appear in it.
            place = transport.rpartition("|")[2]
            other = chat_address_store.newest_chat_at(tx, access, place, lane.made_by, but=lane.key)
        else:
            other = store.newest_chat(tx, access, channel, lane.made_by, but=lane.key)
        if other is not None:
            store.set_pointer(tx, access, transport, other)
            METRICS.count("sessions.pointer.repaired.count", channel=channel)

"""Pointers: which session the messages of a transport (a browser, a terminal, a chat) go to."""

from typing import Literal

from msgspec import Struct

from carrel.agents import default_agent, named_agent
from carrel.chats import store
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, SessionKey, is_conversation_key
from carrel.notifications import OWNERS, mailbox_of
from carrel.sessions import Lane, lane_of
from carrel.storage import Tx
from carrel.visibility import require_visible

Source = Literal["pointer", "repaired", "default"]


class PointedSession(Struct, frozen=True):
    """The session a transport points to, and how it was found."""

    key: SessionKey
    source: Source


def transport_name(access: Access, channel: str, client_instance_id: str) -> str:
    """Return the name of a transport: per user for browsers and terminals, per chat for Telegram."""
    return f"{channel}|{'' if channel == 'telegram' else access.actor_id}|{client_instance_id or '_'}"


def pointed_session(tx: Tx, access: Access, channel: str, client_instance_id: str) -> PointedSession:
    """Return the session a transport points to; if there is none, a new key. Writes nothing."""
    pointed = store.pointer(tx, access, transport_name(access, channel, client_instance_id))
    if pointed is not None:
        lane = lane_of(tx, access, SessionKey.stored(pointed))
        if lane is not None and lane.archived_at is None:
            return PointedSession(lane.session_key, "pointer")
        if recent := store.newest_chat(tx, access, channel, access.actor_id, but=pointed):
            return PointedSession(SessionKey.stored(recent), "repaired")
    return PointedSession(fresh_key(tx, access, channel, None), "default" if pointed is None else "repaired")


def pointed_lane(tx: Tx, access: Access, channel: str, client_instance_id: str) -> Lane | None:
    """Return the lane a transport points to, if messages can still be sent to it."""
    pointed = store.pointer(tx, access, transport_name(access, channel, client_instance_id))
    lane = None if pointed is None else lane_of(tx, access, SessionKey.stored(pointed))
    # A sub-agent is archived when idle; a message to its chat address brings it back.
    is_usable = lane is not None and (lane.archived_at is None or lane.kind == "subagent")
    return lane if is_usable else None


def is_pointed_to(tx: Tx, access: Access, key: SessionKey) -> bool:
    """Whether a session is the active one of some transport."""
    return bool(store.transports_to(tx, access, str(key)))


def fresh_key(tx: Tx, access: Access, channel: str, agent: str | None) -> SessionKey:
    """Return a new, unused key for a chat."""
    agent_id = named_agent(tx, access, agent).id if agent else default_agent(tx, access).id
    return SessionKey.of(agent_id, f"{channel}:{tx.new_id('c').replace('_', '-')}")


def chosen_key(tx: Tx, access: Access, channel: str, conversation: str, agent: str | None) -> SessionKey:
    """Return the key for a conversation key that the client chose; short ones must already exist."""
    agent_id = named_agent(tx, access, agent).id if agent else default_agent(tx, access).id
    if not is_conversation_key(conversation):
        raise _malformed()
    key = SessionKey.of(agent_id, f"{channel}:{conversation}")
    lane = lane_of(tx, access, key)
    if lane is None:
        require_valid_new_key(key)
    else:
        require_visible(tx, access, lane.session_key, lane.made_by)
    return key


def require_valid_new_key(key: SessionKey) -> None:
    """Refuse a conversation key that new chats may not use; existing chats keep theirs."""
    if key.kind == "chat" and not is_conversation_key(key.conversation, is_new=True):
        raise _malformed()


def _malformed() -> Refusal:
    return Refusal(
        Code.INVALID_CONVERSATION_KEY,
        "A new conversation key must be 8 to 64 letters, digits, _ or -, and must not start with ses_.",
        field="conversationKey",
    )


def move_pointer(tx: Tx, access: Access, channel: str, client_instance_id: str, lane: Lane, source: str) -> None:
    """Point a transport to a lane; do nothing if it already does."""
    transport = transport_name(access, channel, client_instance_id)
    before = store.pointer(tx, access, transport)
    if before == lane.key:
        return
    store.set_pointer(tx, access, transport, lane.key)
    METRICS.count("sessions.switch.count", access.account_id, channel=channel)
    body = {"channelType": channel, "from": before, "to": lane.key, "source": source}
    # It names two sessions that others may not see, so it concerns only this person.
    recipient = mailbox_of(access) or OWNERS
    append_event(tx, access, "pointer.changed", about_lane(lane.session_key), json_text(body), recipient=recipient)


def repair_pointers(tx: Tx, access: Access, lane: Lane) -> None:
    """Before a lane is deleted, point its transports to its creator's most recent other chat, if any."""
    channel = lane.session_key.channel or ""
    for transport in store.transports_to(tx, access, lane.key):
        if transport.startswith("telegram|"):
            # Others may read this chat, so only sessions held in it may appear there.
            chat_address = transport.rpartition("|")[2]
            other = store.newest_chat_at(tx, access, chat_address, lane.made_by, but=lane.key)
        else:
            other = store.newest_chat(tx, access, channel, lane.made_by, but=lane.key)
        if other is not None:
            store.set_pointer(tx, access, transport, other)
            METRICS.count("sessions.pointer.repaired.count", access.account_id, channel=channel)

"""Receiving a chat message: find or create its session, then run a command, answer a run, or deliver the message."""

from logging import getLogger

from msgspec import UNSET, Struct, UnsetType, structs

from carrel import chats
from carrel.agents import default_agent, named_agent
from carrel.commands.model import CommandContext, CommandResult, ParsedCommand
from carrel.commands.table import lock_for_command, read_command, run_command
from carrel.goals import find_goal
from carrel.kernel import (
    AT_WORK,
    SCOPE_END,
    Access,
    Envelope,
    Message,
    NewAttachment,
    Provenance,
    SessionKey,
    caller_hash,
    invalid,
)
from carrel.kernel.settings import Settings
from carrel.monitoring import RunFilter, runs_newest_first, visible_run
from carrel.outbox import keep_reply_address, post_text, waiting_at
from carrel.runs import Rules, Run, answer, deliver, run_by_sender
from carrel.sessions import Lane, LaneChange, change_lane, lane_of, make_lane
from carrel.storage import Tx

_log = getLogger("carrel.commands")


class ChannelChat(Struct, frozen=True, kw_only=True):
    """A chat of a messaging channel. It has a session of its own, and replies are posted to its address.

    `session_rest` is the end of that session's key and `title` its name; `message_id` is unique on the channel. A
    stranger is a person whom nobody admitted to the account: their commands reach their own sessions alone.
    """

    address: str
    session_rest: str
    title: str
    message_id: str
    is_stranger: bool


class ChatMessage(Struct, frozen=True, kw_only=True):
    """A message that a person sent in a chat, and what it says about its session.

    A client may name the session or the agent, itself, and the message: under the same `client_message_id` it is the
    same run. A channel sends its `chat` instead.
    """

    text: str
    channel: str
    files: tuple[NewAttachment, ...] = ()
    agent: str | None = None
    reference: str | None = None
    client_instance_id: str | None = None
    client_message_id: str | None = None
    # The run that it answers, None if it is a message of its own. A client that does not know whether a run waits
    # leaves it out: then the text answers the session's newest run if that asks something.
    answers: str | UnsetType | None = UNSET
    # Whether it joins the session's running run.
    steers: bool = False
    # The goal that the message is about.
    goal_id: str | None = None
    chat: ChannelChat | None = None

    @property
    def command(self) -> ParsedCommand | None:
        """The message as a command; None for ordinary text and for a message with files."""
        return None if self.files else read_command(self.text)

    @property
    def transport(self) -> str | None:
        """The chat, browser or terminal whose active session this becomes; None for a browser that has no name."""
        if self.chat is not None:
            return self.chat.address
        return self.client_instance_id or (None if self.channel == "web" else "")


class Received(Struct, frozen=True):
    """What became of a message: the run that it started or answered, or the command that it ran."""

    key: SessionKey
    run: Run | None = None
    done: CommandResult | None = None


def receive(tx: Tx, access: Access, settings: Settings, rules: Rules, message: ChatMessage) -> Received:
    """Receive one chat message in one transaction."""
    key = _session(tx, access, settings, message)
    if message.goal_id is not None:
        find_goal(tx, access, message.goal_id, key=key)
    if message.command is not None:
        return _run_command(tx, access, settings, rules, message, message.command, key)
    sender_id = _sender_id(access, message, key)
    if sender_id is not None and (known := run_by_sender(tx, access, sender_id, answered=True)) is not None:
        # A repeated message changes nothing, not even the session that is active by now.
        return Received(known.session_key, run=known)
    sent = Message(
        text=message.text,
        provenance=Provenance.of_person(access, message.channel),
        sender_id=sender_id,
        attachments=message.files,
    )
    if (answered := _answer(tx, access, message, sent, key)) is not None:
        return Received(key, run=answered)
    # A chat of a channel has chosen the session itself, and all its members share it.
    sender = access if message.chat is None else access.as_system()
    steers = AT_WORK if message.steers else None
    run = deliver(tx, sender, Envelope(key=key, message=sent, channel=message.channel, steers=steers), rules)
    if message.chat is not None:
        keep_reply_address(tx, access, run.id, message.channel, message.chat.address)
    lane = lane_of(tx, access, key)
    assert lane is not None, "a lane with a run exists"
    _activate(tx, access, message, lane)
    chats.name_chat(tx, access, key, message.text)
    return Received(key, run=run)


def require_usable(tx: Tx, access: Access, key: SessionKey) -> None:
    """Refuse a key that has no session and under which none may be created."""
    if lane_of(tx, access, key) is None:
        chats.require_valid_new_key(key)


def _session(tx: Tx, access: Access, settings: Settings, message: ChatMessage) -> SessionKey:
    """Return the key of the session that the message is for, whether or not it exists yet."""
    if message.chat is None:
        address = chats.ChatAddress(
            channel=message.channel,
            client_instance_id=message.client_instance_id,
            reference=message.reference,
            agent=message.agent,
        )
        return chats.chat_session(tx, access, settings.sessions, address)
    agent = named_agent(tx, access, message.agent) if message.agent else default_agent(tx, access)
    active = chats.pointed_lane(tx, access, message.channel, message.chat.address)
    key = active.session_key if active else SessionKey.of(agent.id, message.chat.session_rest)
    return chats.shared_key(settings.sessions, key)


def _sender_id(access: Access, message: ChatMessage, key: SessionKey) -> str | None:
    if message.chat is not None:
        return message.chat.message_id
    if message.client_message_id is None:
        return None
    scope = (
        str(key)
        if message.reference
        else chats.transport_name(access, message.channel, message.client_instance_id or "")
    )
    return f"chat:{scope}{SCOPE_END}{message.client_message_id}"


def _activate(tx: Tx, access: Access, message: ChatMessage, lane: Lane, *, moves: bool = True) -> None:
    """Make a lane the active session of the transport that used it; from clients only chats become active."""
    if message.transport is None or (message.chat is None and lane.session_key.kind != "chat"):
        return
    if moves:
        chats.move_pointer(tx, access, message.channel, message.transport, lane, "message")
    chat = message.chat
    if chat is None:
        return
    if lane.last_to != chat.address:
        chats.note_chat_address(tx, access, lane.key, chat.address)
    if lane.session_key.rest == chat.session_rest and not lane.display_name and not lane.label:
        change_lane(tx, access, lane.session_key, LaneChange(display_name=chat.title))


def _run_command(
    tx: Tx, access: Access, settings: Settings, rules: Rules, message: ChatMessage, typed: ParsedCommand,
    key: SessionKey,
) -> Received:  # fmt: skip
    require_usable(tx, access, key)
    transport, chat = message.transport, message.chat
    active = None if transport is None else chats.pointed_lane(tx, access, message.channel, transport)
    was_active = active is not None and active.session_key == key
    lock_for_command(tx, access, key, typed)
    lane = make_lane(tx, access, key)
    # If another message switched sessions while this one waited for the lane, that switch stays.
    _activate(tx, access, message, lane, moves=not was_active)
    if chat is not None and chat.is_stranger:
        access = structs.replace(access, kind="client", agent_ids=(lane.agent_id,))
    where = CommandContext(
        lane=lane,
        settings=settings,
        rules=rules,
        channel=message.channel,
        client_instance_id=transport,
        chat_address=chat.address if chat is not None else None,
        goal_id=message.goal_id,
    )
    done = run_command(tx, access, where, typed)
    _log.info("command", extra=_log_fields(access, where, done))
    if chat is not None:
        # The chat goes on in the session that the command created or switched to.
        chats.note_chat_address(tx, access, str(done.key), chat.address)
        post_text(tx, access, message.channel, chat.address, done.reply)
    return Received(done.key, done=done)


def _log_fields(access: Access, where: CommandContext, done: CommandResult) -> dict[str, str | None]:
    """Return the log fields of a command; a chat or browser appears only as a hash."""
    key = where.lane.session_key
    return {
        "command": done.command,
        "account_id": access.account_id,
        "actor": access.actor_id,
        "agent_id": key.agent,
        "session_identity": ":".join(key.identity),
        "session_key": str(key),
        "goal_id": where.goal_id,
        "task_id": key.task_id,
        "transport_chat_hash": caller_hash(where.client_instance_id) if where.client_instance_id else None,
    }


def _answer(tx: Tx, access: Access, message: ChatMessage, sent: Message, key: SessionKey) -> Run | None:
    """Answer the run that asked something; None if none did, or if this is no answer to it."""
    if isinstance(message.answers, str):
        named = visible_run(tx, access, message.answers)
        if named.session_key != key:
            raise invalid("answersRunId", "This run belongs to another session.")
        return answer(tx, access, named.id, sent, approved=named.read_answer(message.text)[1])
    asking = _asking(tx, access, message, key)
    if asking is None or not asking.asks_person:
        return None
    if asking.waiting_for != "approval":
        return answer(tx, access, asking.id, sent)
    approved = asking.decision_in(message.text)
    # A chat of a channel may have other members than the owner.
    if approved is None or (message.chat is not None and access.kind != "owner"):
        return None
    return answer(tx, access, asking.id, sent, approved=approved)


def _asking(tx: Tx, access: Access, message: ChatMessage, key: SessionKey) -> Run | None:
    """Return the run that a message may answer if it names none: the one that asked in this chat, or the newest."""
    if message.chat is not None:
        return waiting_at(tx, access, str(key), message.channel, message.chat.address)
    if message.answers is None:
        return None
    newest = runs_newest_first(tx, access, RunFilter(key=str(key)), before=None, limit=1)
    return newest[0] if newest else None

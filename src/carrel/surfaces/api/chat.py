"""Chat: one line said by a person, as a message to an agent or as a command. The WebSocket speaks through here too."""

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct, field

from carrel.kernel import (
    SCOPE_END,
    Access,
    Envelope,
    Message,
    NewAttachment,
    Provenance,
    Refusal,
    SessionKey,
    invalid,
    not_found,
)
from carrel.kernel.limits import CLIENT_ID_CHARS_MAX, NAME_CHARS_MAX
from carrel.modes import Done, Scene, read_command, run_command
from carrel.runs import Run, deliver, run_by_sender
from carrel.sessions import (
    ChatAddress,
    chat_session,
    lane_of,
    make_lane,
    move_pointer,
    name_chat,
    require_valid_new_key,
    transport_name,
)
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import PEOPLE, Ask, In, NoQuery, Out, Reply, endpoint
from carrel.surfaces.api.sessions.changes import Channel, ClientId, Name, Reference
from carrel.surfaces.http.house import House


class NewFile(In, frozen=True, kw_only=True):
    """A file that comes with a line."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
    mime_type: Annotated[str, Meta(pattern=r"^[\w.+-]+/[\w.+-]+$", max_length=NAME_CHARS_MAX)]
    content: str = field(name="dataBase64")


class ChatMetadata(In, frozen=True, kw_only=True):
    """What a line is about."""

    goal_id: str | None = None


class ChatLine(In, frozen=True, kw_only=True):
    """One line, and where it belongs."""

    text: str
    session_id: Reference | None = None
    session_key: Reference | None = None
    agent_id: Name | None = None
    channel_type: Channel = "web"
    client_instance_id: ClientId | None = None
    client_message_id: Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)] | None = None
    metadata: ChatMetadata | None = None
    attachments: tuple[NewFile, ...] = ()


class ChatAccepted(Out, frozen=True, kw_only=True):
    """The line is safe and on its way."""

    run_id: str
    session_id: str
    session_key: str


class CommandAnswer(Out, frozen=True, kw_only=True):
    """What a command did, and the session that is active after it."""

    command: str
    reply: str
    session_id: str
    session_key: str


class Heard(Struct, frozen=True):
    """What became of a line: a run, or a command that was done."""

    key: SessionKey
    run: Run | None = None
    done: Done | None = None


@endpoint("POST", "/api/chat", answers={202: ChatAccepted, 200: CommandAnswer}, who=PEOPLE, body=ChatLine, creates=True)
async def post_chat(ask: Ask[ChatLine, NoQuery]) -> Reply:
    """Say a line in a chat, or give a command."""
    heard = await say(ask.house, ask.access, ask.body, lambda tx, heard: ask.promise(tx, _reply(heard)))
    return _reply(heard)


def _reply(heard: Heard) -> Reply:
    names = {"session_id": heard.key.conversation, "session_key": str(heard.key)}
    if heard.done is not None:
        return Reply(200, CommandAnswer(command=heard.done.command, reply=heard.done.reply, **names))
    assert heard.run is not None, "a line is a command or a message"
    return Reply(202, ChatAccepted(run_id=heard.run.id, **names))


async def say(
    house: House, access: Access, line: ChatLine, promise: Callable[[Tx, Heard], object] | None = None
) -> Heard:
    """Hear one line in one transaction: find its session, make it where it is new, and deliver or command.

    `promise` is told in the transaction what came of it.
    """
    if line.metadata is not None and line.metadata.goal_id is not None:
        raise not_found("goal")
    if line.session_id is not None and line.session_key is not None and line.session_id != line.session_key:
        raise invalid("sessionId", "Name the session once: by sessionId or by sessionKey.")
    files = tuple(_file(new, at) for at, new in enumerate(line.attachments))
    if not line.text.strip() and not files:
        raise invalid("text", "A line needs some text.")
    typed = None if files else read_command(line.text)
    if typed is None:
        house.refuse_when_draining()

    def work(tx: Tx) -> Heard:
        heard = hear(tx)
        if promise is not None:
            promise(tx, heard)
        return heard

    def hear(tx: Tx) -> Heard:
        reference = line.session_key or line.session_id
        address = ChatAddress(
            channel=line.channel_type,
            client_instance_id=line.client_instance_id,
            reference=reference,
            agent=line.agent_id,
        )
        key = chat_session(tx, access, house.settings.sessions, address)
        if typed is None:
            return _deliver(tx, access, house, line, key, files)
        require_known_or_makeable(tx, access, key)
        lane = make_lane(tx, access, key)
        _put_in_front(tx, access, line, key)
        instance = _instance(line)
        scene = Scene(
            lane=lane, settings=house.settings.sessions, channel=line.channel_type, client_instance_id=instance
        )
        done = run_command(tx, access, scene, typed)
        return Heard(done.key, done=done)

    return await house.db.write(work)


def require_known_or_makeable(tx: Tx, access: Access, key: SessionKey) -> None:
    """Refuse a key under which there is no session and none may be made."""
    if lane_of(tx, access, key) is None:
        require_valid_new_key(key)


def _deliver(
    tx: Tx, access: Access, house: House, line: ChatLine, key: SessionKey, files: tuple[NewAttachment, ...]
) -> Heard:
    sender_id = None
    if line.client_message_id is not None:
        named = line.session_key or line.session_id
        place = str(key) if named else transport_name(access, line.channel_type, line.client_instance_id or "")
        sender_id = f"chat:{place}{SCOPE_END}{line.client_message_id}"
        known = run_by_sender(tx, access, sender_id)
        if known is not None:
            # A repetition changes nothing, not even what the transport has in front of it by now.
            return Heard(known.session_key, run=known)
    message = Message(
        text=line.text,
        provenance=Provenance(kind="external_user", source_channel=line.channel_type, actor=access.actor_id),
        sender_id=sender_id,
        attachments=files,
    )
    try:
        run = deliver(tx, access, Envelope(key=key, message=message, channel=line.channel_type), house.rules)
    except Refusal as refusal:
        # The door calls it a message, this surface a text.
        if refusal.field == "message":
            refusal.field = "text"
        raise
    _put_in_front(tx, access, line, key)
    name_chat(tx, access, key, line.text)
    return Heard(key, run=run)


def _instance(line: ChatLine) -> str | None:
    """The transport's name; only a browser may have none, and then nothing is in front of it."""
    return line.client_instance_id or ("" if line.channel_type != "web" else None)


def _put_in_front(tx: Tx, access: Access, line: ChatLine, key: SessionKey) -> None:
    """Whoever speaks in a chat has it in front from then on; lanes that are no chats stay beside."""
    instance = _instance(line)
    if instance is None or key.kind != "chat":
        return
    lane = lane_of(tx, access, key)
    assert lane is not None, "what was spoken in is there"
    move_pointer(tx, access, line.channel_type, instance, lane, "message")


def _file(new: NewFile, at: int) -> NewAttachment:
    try:
        content = b64decode(new.content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(f"attachments.{at}.dataBase64", f"The file {new.name} is no valid base64.") from error
    return NewAttachment(name=new.name, mime_type=new.mime_type, content=content)

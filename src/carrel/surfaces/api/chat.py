"""POST /api/chat: one chat message, delivered to an agent or run as a command. The chat's WebSocket uses it too."""

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from carrel.commands import ChatMessage, Received, known_commands, receive
from carrel.kernel import PEOPLE, Access, Input, NewAttachment, Shape, invalid
from carrel.kernel.fields import Id, Name, ShortText
from carrel.kernel.limits import ATTACHMENTS_MAX, NAME_CHARS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, Reply, endpoint
from carrel.surfaces.api.session_ids import Reference
from carrel.surfaces.api.sessions.changes import Channel, ClientId, SessionNamed
from carrel.surfaces.http.errors import field_named
from carrel.surfaces.http.openapi import BASE64
from carrel.surfaces.http.services import Services


class NewFile(Input, frozen=True, kw_only=True):
    """A file attached to a message."""

    name: Name
    mime_type: Annotated[str, Meta(pattern=r"^[\w.+-]+/[\w.+-]+$", max_length=NAME_CHARS_MAX)]
    content: Annotated[str, Meta(extra_json_schema={"pattern": f"^{BASE64}$"})] = field(name="dataBase64")


class ChatMetadata(Input, frozen=True, kw_only=True):
    """What a message is about."""

    goal_id: str | None = None


class ChatLine(Input, frozen=True, kw_only=True):
    """A chat message, and the session it is for."""

    text: str
    session_id: Reference | None = None
    session_key: Reference | None = None
    agent_id: ShortText | None = None
    channel_type: Channel = "web"
    client_instance_id: ClientId | None = None
    client_message_id: Id | None = None
    # The run that the text answers; null for a message that answers none.
    answers_run_id: ShortText | UnsetType | None = UNSET
    # Whether it joins the session's running run at its next step.
    steer: bool = False
    metadata: ChatMetadata | None = None
    attachments: Annotated[tuple[NewFile, ...], Meta(extra_json_schema={"maxItems": ATTACHMENTS_MAX})] = ()


class ChatAccepted(SessionNamed, frozen=True, kw_only=True):
    """The message is stored, and its run or the run that it answers is queued."""

    run_id: str


class CommandAnswer(SessionNamed, frozen=True, kw_only=True):
    """The reply of a command, and the session that is active after it."""

    command: str
    reply: str


class KnownCommand(Shape, frozen=True, kw_only=True):
    """A slash command: its name without the slash, how it is written, and what it does."""

    name: str
    usage: str
    effect: str
    owner_only: bool


@endpoint("GET", "/api/commands", "commands", who=PEOPLE)
async def list_commands(call: Call[None, NoQuery]) -> list[KnownCommand]:
    """List the slash commands of chats."""
    # In the order in which /help lists them.
    return [KnownCommand.of(command, name=name) for name, command in known_commands().items()]


@endpoint(
    "POST", "/api/chat", answers={202: ChatAccepted, 200: CommandAnswer}, who=PEOPLE, creates=True, tool="sessions_send"
)
async def post_chat(call: Call[ChatLine, NoQuery]) -> Reply[ChatAccepted | CommandAnswer]:
    """Send a message to a chat, answer a question that was asked in it, or run a command."""
    received = await send_line(
        call.services, call.access, call.body, lambda tx, received: call.promise(tx, _reply(received))
    )
    return _reply(received)


def _reply(received: Received) -> Reply[ChatAccepted | CommandAnswer]:
    names = {"session_id": received.key.conversation, "session_key": str(received.key)}
    if received.done is not None:
        return Reply(200, CommandAnswer(command=received.done.command, reply=received.done.reply, **names))
    assert received.run is not None, "a message is a command or becomes a run"
    return Reply(202, ChatAccepted(run_id=received.run.id, **names))


async def send_line(
    services: Services, access: Access, line: ChatLine, promise: Callable[[Tx, Received], object] | None = None
) -> Received:
    """Receive one line in one transaction; `promise` is called in it with the outcome."""
    message = _message(line)
    if message.command is None:
        services.refuse_when_draining()

    def work(tx: Tx) -> Received:
        received = receive(tx, access, services.settings, services.rules, message)
        if promise is not None:
            promise(tx, received)
        return received

    with field_named("text", below="message"):
        return await services.db.write(work)


def _message(line: ChatLine) -> ChatMessage:
    if line.session_id is not None and line.session_key is not None and line.session_id != line.session_key:
        raise invalid("sessionId", "sessionId and sessionKey name different sessions; send one of them.")
    files = tuple(_file(new, at) for at, new in enumerate(line.attachments))
    if not line.text.strip() and not files:
        raise invalid("text", "A message needs some text.")
    return ChatMessage(
        text=line.text,
        channel=line.channel_type,
        files=files,
        agent=line.agent_id,
        reference=line.session_key or line.session_id,
        client_instance_id=line.client_instance_id,
        client_message_id=line.client_message_id,
        answers=line.answers_run_id,
        steers=line.steer,
        goal_id=None if line.metadata is None else line.metadata.goal_id,
    )


def _file(new: NewFile, at: int) -> NewAttachment:
    try:
        content = b64decode(new.content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(f"attachments.{at}.dataBase64", f"The file {new.name} is not valid base64.") from error
    return NewAttachment(name=new.name, mime_type=new.mime_type, content=content)

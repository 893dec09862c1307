"""Messages, their provenance, and the envelope that addresses one to a lane."""

from typing import Any, Literal, Self

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel.access import Access
from carrel.kernel.errors import Code, Refusal, invalid
from carrel.kernel.keys import SessionKey
from carrel.kernel.limits import ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, MESSAGE_CHARS_MAX

# A sender's message id is unique within a scope (a chat, an addressed agent); this separates the two.
SCOPE_END = "\x1f"
# The channel of messages between lanes when no other is known.
INTERNAL_CHANNEL = "internal"

ProvenanceKind = Literal[
    "external_user", "inter_session", "notification", "a2a", "spawn", "cron", "hook", "auto", "heartbeat", "announce",
    "reply_back", "internal_system", "reported",
]  # fmt: skip


# Notifications that are our own sentences or copies of thread messages.
_NOTICES = ("assignment", "status_change", "stalled", "mention", "thread_update")


class Provenance(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a message came from; fields that do not apply are left out on the wire."""

    kind: ProvenanceKind
    source_session_key: str | UnsetType = UNSET
    source_channel: str | UnsetType = UNSET
    source_tool: str | UnsetType = UNSET
    notification_id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    actor: str | UnsetType = UNSET
    # What the person or program is called on the channel.
    name: str | UnsetType = UNSET
    # Who reports what somebody else said.
    by: str | UnsetType = UNSET

    @classmethod
    def of_person(cls, access: Access, channel: str | UnsetType = UNSET) -> Self:
        """Return the provenance of a message that somebody sends to an agent, on a channel or over the API."""
        name = access.name or UNSET
        return cls(kind="external_user", source_channel=channel, actor=access.actor_id, name=name)

    @property
    def is_notice(self) -> bool:
        """Whether the message is a notification that adds nothing: our own sentence, or a copy of a thread message."""
        return self.kind == "notification" and self.type in _NOTICES

    def marked(self, speaker: str) -> str:
        """Return the word for who said something, marked if it is only reported."""
        return f"{speaker} (reported)" if self.kind == "reported" or self.by is not UNSET else speaker


class NewAttachment(Struct, frozen=True, kw_only=True):
    """A file sent with a message."""

    name: str
    mime_type: str
    content: bytes


class Message(Struct, frozen=True, kw_only=True):
    """One message. `sender_id` is the sender's own id for it, by which duplicates are recognised."""

    text: str
    provenance: Provenance
    sender_id: str | None = None
    attachments: tuple[NewAttachment, ...] = ()
    # As its protocol sent it, for clients that must get it back unchanged.
    original: bytes | None = None


class StoredStep(Struct, frozen=True, kw_only=True):
    """A step of an earlier run that is sent once more, and the connection it goes to."""

    run_id: str
    n: int
    gateway: str


class TurnExtras(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sender adds to the turn of its message, on top of what the agent has.

    `functions` belong to the sender, who answers calls to them. `options` go to the model unchanged. `before` and
    `after` are items of earlier conversation around the message; `parts` belong to its own content. A turn that
    `replays` a step sends its request and nothing else.
    """

    instructions: str | None = None
    model: str | None = None
    functions: tuple[dict[str, Any], ...] = ()
    options: dict[str, Any] = {}
    before: tuple[dict[str, Any], ...] = ()
    after: tuple[dict[str, Any], ...] = ()
    parts: tuple[dict[str, Any], ...] = ()
    replays: StoredStep | None = None

    @property
    def function_names(self) -> frozenset[str]:
        """The names of the sender's functions."""
        return frozenset(function["name"] for function in self.functions)

    @property
    def gateway(self) -> str | None:
        """The gateway that the turn goes to, if not its agent's."""
        return None if self.replays is None else self.replays.gateway


# In place of a run's id: whichever run is working in the lane.
AT_WORK = "at_work"


class Envelope(Struct, frozen=True, kw_only=True):
    """A message addressed to a lane."""

    key: SessionKey
    message: Message
    channel: str = "api"
    task_id: str | None = None
    # The auto run whose tick it is.
    auto_run_id: str | None = None
    # 0 means the limit of the settings; `unlimited` means none.
    timeout_seconds: int = 0
    unlimited: bool = False
    parent_run_id: str | None = None
    retried_from: str | None = None
    # The running run of the lane that the message is to join, or AT_WORK.
    steers: str | None = None
    label: str | None = None
    extras: TurnExtras | None = None

    @classmethod
    def internal(cls, key: SessionKey, text: str, provenance: Provenance, **more: Any) -> Self:
        """Return a message sent inside the server; it does not change the lane's channel."""
        return cls(key=key, message=Message(text=text, provenance=provenance), channel=INTERNAL_CHANNEL, **more)


def check_message(message: Message) -> None:
    """Refuse a message that is empty or too large."""
    if not message.text.strip() and not message.attachments:
        raise invalid("message", "A message needs some text.")
    if len(message.text) > MESSAGE_CHARS_MAX:
        raise Refusal(Code.TOO_LONG, f"A message has at most {MESSAGE_CHARS_MAX} characters.", field="message")
    if len(message.attachments) > ATTACHMENTS_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A message has at most {ATTACHMENTS_MAX} attachments.", field="attachments")
    if any(len(attachment.content) > ATTACHMENT_BYTES_MAX for attachment in message.attachments):
        raise Refusal(Code.TOO_LARGE, f"An attachment has at most {ATTACHMENT_BYTES_MAX} bytes.", field="attachments")

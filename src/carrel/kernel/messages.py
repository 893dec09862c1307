"""Messages: one thing said, by whose doing, and the envelope that carries it to a lane."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel.keys import SessionKey

# A sender's id is unique within a scope (a chat, an agent spoken to); this ends the scope in front of it.
SCOPE_END = "\x1f"
# The channel of what lanes say to one another where no other is known.
INTERNAL_CHANNEL = "internal"

ProvenanceKind = Literal[
    "external_user", "inter_session", "notification", "a2a", "spawn", "cron", "hook", "auto", "heartbeat", "announce",
    "reply_back", "internal_system",
]  # fmt: skip


class Provenance(Struct, frozen=True, kw_only=True, rename="camel"):
    """By whose doing something was said; what does not apply is left out on the wire."""

    kind: ProvenanceKind
    source_session_key: str | UnsetType = UNSET
    source_channel: str | UnsetType = UNSET
    source_tool: str | UnsetType = UNSET
    notification_id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    actor: str | UnsetType = UNSET


class NewAttachment(Struct, frozen=True, kw_only=True):
    """A file said along with a message."""

    name: str
    mime_type: str
    content: bytes


class Message(Struct, frozen=True, kw_only=True):
    """One thing said. `sender_id` is the sender's own id for it, by which a repetition is known.

    `original` is the message in the form of the protocol it came by, for whoever is to see it again just as it was.
    """

    text: str
    provenance: Provenance
    sender_id: str | None = None
    attachments: tuple[NewAttachment, ...] = ()
    original: bytes | None = None


class TurnExtras(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sender adds to the turn that hears its message, beside what the agent has of its own.

    `functions` are the sender's: a call of one is answered by the sender itself. `options` go to the model as they are.
    `before` and `after` are items of earlier talk around the message, `parts` belong to the message's own content.
    """

    instructions: str | None = None
    model: str | None = None
    functions: tuple[dict[str, Any], ...] = ()
    options: dict[str, Any] = {}
    before: tuple[dict[str, Any], ...] = ()
    after: tuple[dict[str, Any], ...] = ()
    parts: tuple[dict[str, Any], ...] = ()

    @property
    def function_names(self) -> frozenset[str]:
        """The names of the sender's functions."""
        return frozenset(function["name"] for function in self.functions)


class Envelope(Struct, frozen=True, kw_only=True):
    """A message with the lane it is for."""

    key: SessionKey
    message: Message
    channel: str = "api"
    task_id: str | None = None
    # 0 is what the settings say; without a limit at all it may take as long as it takes.
    timeout_seconds: int = 0
    unlimited: bool = False
    parent_run_id: str | None = None
    retried_from: str | None = None
    label: str | None = None
    extras: TurnExtras | None = None

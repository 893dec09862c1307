"""Messages: one thing said, by whose doing, and the envelope that carries it to a lane."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel.keys import SessionKey

# A sender's id is unique within a scope (a chat, an agent spoken to); this ends the scope in front of it.
SCOPE_END = "\x1f"

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


class Envelope(Struct, frozen=True, kw_only=True):
    """A message with the lane it is for."""

    key: SessionKey
    message: Message
    channel: str = "api"
    task_id: str | None = None
    timeout_seconds: int = 0
    parent_run_id: str | None = None
    retried_from: str | None = None
    label: str | None = None

"""A transcript as agents, people and programs read it: entries as messages of blocks, one shape on every surface."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from carrel.journal import Entry
from carrel.kernel import Provenance, iso, redact


class _Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """What goes out."""


class TextBlock(_Shape, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class ToolCallBlock(_Shape, frozen=True, kw_only=True, tag_field="type", tag="toolCall"):
    """A call that an agent made."""

    id: str
    name: str
    arguments: Any


class ToolResultBlock(_Shape, frozen=True, kw_only=True, tag_field="type", tag="toolResult"):
    """What a call was answered."""

    tool_call_id: str
    name: str
    text: str


class AttachmentBlock(_Shape, frozen=True, kw_only=True, tag_field="type", tag="attachment"):
    """A file that came along, by its id."""

    attachment_id: str


Block = TextBlock | ToolCallBlock | ToolResultBlock | AttachmentBlock


class MessageShape(_Shape, frozen=True, kw_only=True):
    """One line of a transcript."""

    id: str
    role: Literal["user", "assistant", "toolCall", "toolResult", "system"]
    content: list[Block]
    timestamp: str
    run_id: str | None
    provenance: Provenance


def message_shape(entry: Entry, *, redacted: bool) -> MessageShape:
    """An entry in transcript format; for agents without what looks like a secret."""
    text = redact(entry.content) if redacted else entry.content
    return MessageShape(
        id=entry.id,
        role=entry.role,  # type: ignore[arg-type]
        content=[
            *_blocks(entry, text, redacted),
            # A call's file is what it is made with, and nobody's to read.
            *(AttachmentBlock(attachment_id=name) for name in entry.attachment_ids if entry.role != "toolCall"),
        ],
        timestamp=iso(entry.created_at) or "",
        run_id=entry.run_id,
        provenance=entry.provenance,
    )


def _arguments(details: dict[str, Any], redacted: bool) -> Any:
    """What a call was made with; a model that wrote no JSON is shown as it wrote."""
    written = str(details.get("arguments", ""))
    text = redact(written) if redacted else written
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _blocks(entry: Entry, text: str, redacted: bool) -> list[Block]:
    details = entry.details or {}
    if entry.role == "toolCall" and "name" in details:
        return [
            ToolCallBlock(id=details.get("callId", ""), name=details["name"], arguments=_arguments(details, redacted))
        ]
    if entry.role == "toolResult" and "name" in details:
        return [ToolResultBlock(tool_call_id=details.get("callId", ""), name=details["name"], text=text)]
    return [TextBlock(text=text)]

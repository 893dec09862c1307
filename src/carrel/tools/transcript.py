"""Transcripts: entries as messages made of blocks, in the same shape on every surface."""

from typing import Any, Literal

import msgspec

from carrel.journal import Entry
from carrel.kernel import Provenance, Shape, iso, redact
from carrel.runs import is_sender_call


class TextBlock(Shape, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text."""

    text: str


class ToolCallBlock(Shape, frozen=True, kw_only=True, tag_field="type", tag="toolCall"):
    """A tool call that an agent made."""

    id: str
    name: str
    arguments: Any


CallOutcome = Literal["done", "refused", "failed"]


class ToolResultBlock(Shape, frozen=True, kw_only=True, tag_field="type", tag="toolResult"):
    """The result of a tool call; `outcome` says whether the call was refused, or made and failed."""

    tool_call_id: str
    name: str
    text: str
    outcome: CallOutcome


class AttachmentBlock(Shape, frozen=True, kw_only=True, tag_field="type", tag="attachment"):
    """An attached file, by its id."""

    attachment_id: str


Block = TextBlock | ToolCallBlock | ToolResultBlock | AttachmentBlock


class MessageShape(Shape, frozen=True, kw_only=True):
    """One message of a transcript."""

    id: str
    role: Literal["user", "assistant", "toolCall", "toolResult", "system"]
    content: list[Block]
    timestamp: str
    run_id: str | None
    provenance: Provenance


def message_shape(entry: Entry, *, redacted: bool) -> MessageShape:
    """Return an entry in transcript format; redacted for agents."""
    text = redact(entry.content) if redacted else entry.content
    return MessageShape(
        id=entry.id,
        role=entry.role,  # type: ignore[arg-type]
        content=[
            *_blocks(entry, text, redacted),
            # A call's file holds its arguments and is not for readers.
            *(AttachmentBlock(attachment_id=name) for name in entry.attachment_ids if entry.role != "toolCall"),
        ],
        timestamp=iso(entry.created_at) or "",
        run_id=entry.run_id,
        provenance=entry.provenance,
    )


def _arguments(details: dict[str, Any], redacted: bool) -> Any:
    """Return a call's arguments; as plain text if the model wrote invalid JSON."""
    written = str(details.get("arguments", ""))
    text = redact(written) if redacted else written
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _blocks(entry: Entry, text: str, redacted: bool) -> list[Block]:
    details = entry.details or {}
    call_id, name = details.get("callId", ""), details.get("name")
    if entry.role == "toolCall" and name is not None:
        return [ToolCallBlock(id=call_id, name=name, arguments=_arguments(details, redacted))]
    if entry.role == "toolResult" and name is not None:
        outcome = "done" if is_sender_call(entry) else _outcome(entry.content)
        return [ToolResultBlock(tool_call_id=call_id, name=name, text=text, outcome=outcome)]
    return [TextBlock(text=text)]


class _Told(msgspec.Struct, frozen=True):
    """What a result says about its call; most results say nothing."""

    ok: bool = True
    status: str = ""


def _outcome(result: str) -> CallOutcome:
    try:
        told = msgspec.json.decode(result, type=_Told)
    except msgspec.DecodeError:
        # A tool's own result may use these names for something else.
        return "done"
    if not told.ok or told.status == "forbidden":
        return "refused"
    return "failed" if told.status == "error" else "done"

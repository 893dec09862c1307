"""From an A2A message to what is said to an agent: its words, its files, and the message itself to be shown again."""

import msgspec
from a2a.types import Message as WireMessage
from a2a.types import Part, Role, SendMessageRequest

from carrel.kernel import SCOPE_END, Message, NewAttachment, Provenance
from carrel.kernel.limits import A2A_ID_CHARS_MAX, ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, MESSAGE_CHARS_MAX
from carrel.surfaces.a2a.errors import CONTENT_TYPE_NOT_SUPPORTED, A2aError, wrong
from carrel.surfaces.a2a.json_limits import check_extent
from carrel.surfaces.a2a.params import as_json

FILE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf")
_WORD_TYPES = ("application/json", "application/x-www-form-urlencoded")


def check_message(message: WireMessage) -> None:
    """Refuse a message that is no message, naming the field."""
    _check_id("message.messageId", message.message_id, needed=True)
    _check_id("message.contextId", message.context_id)
    _check_id("message.taskId", message.task_id)
    if message.role != Role.ROLE_USER:
        raise wrong("message.role", "A message to an agent has the role ROLE_USER.")
    if not message.parts:
        raise wrong("message.parts", "A message needs at least one part.")


def _check_id(field: str, text: str, *, needed: bool = False) -> None:
    if needed and not text:
        raise wrong(field, f"{field} is missing.")
    if len(text) > A2A_ID_CHARS_MAX or SCOPE_END in text or "\x00" in text:
        raise wrong(field, f"{field} has at most {A2A_ID_CHARS_MAX} characters, none of them a control character.")


def said(request: SendMessageRequest, actor_id: str, sender_id: str) -> Message:
    """What the message says, for `deliver`; files leave the original and become attachments."""
    words: list[str] = []
    files: list[NewAttachment] = []
    original = SendMessageRequest(message=request.message, metadata=request.metadata)
    for n, part in enumerate(original.message.parts):
        field = f"message.parts.{n}"
        match part.WhichOneof("content"):
            case "text":
                _check_words(field, part)
                words.append(part.text)
            case "data":
                words.append(_as_words(part))
            case "url":
                _check_file_type(field, part, needed=False)
                words.append(_link(field, part))
            case "raw":
                files.append(_file(field, part))
                part.raw = b""
            case _:
                raise wrong(field, "A part has one of text, raw, url and data.")
    text = "\n\n".join(word for word in words if word)
    _check_bounds(text, files)
    shown = as_json(original)
    # By gRPC it came without passing as JSON, and as JSON it goes on.
    check_extent(shown)
    return Message(
        text=text,
        provenance=Provenance(kind="a2a", actor=actor_id),
        sender_id=sender_id,
        attachments=tuple(files),
        original=msgspec.json.encode(shown),
    )


def _check_bounds(text: str, files: list[NewAttachment]) -> None:
    """What `deliver` would refuse too, in the terms of whoever sent it."""
    if "\x00" in text:
        raise wrong("message.parts", "A NUL character may stand in no text.")
    if not text.strip() and not files:
        raise wrong("message.parts", "A message needs some text.")
    if len(text) > MESSAGE_CHARS_MAX:
        raise wrong("message.parts", f"A message has at most {MESSAGE_CHARS_MAX} characters.")
    if len(files) > ATTACHMENTS_MAX:
        raise wrong("message.parts", f"A message has at most {ATTACHMENTS_MAX} files.")


def _check_words(field: str, part: Part) -> None:
    kind = _bare_type(part)
    if kind and not kind.startswith("text/") and kind not in _WORD_TYPES:
        raise _unsupported(field, f"A text part of type {kind[:100]} is not understood here.")


def _check_file_type(field: str, part: Part, *, needed: bool) -> None:
    kind = _bare_type(part)
    if (needed or kind) and kind not in FILE_TYPES:
        raise _unsupported(field, f"A file is one of {', '.join(FILE_TYPES)}, not '{kind[:100]}'.")


def _bare_type(part: Part) -> str:
    return part.media_type.partition(";")[0].strip().lower()


def _unsupported(field: str, message: str) -> A2aError:
    return A2aError(CONTENT_TYPE_NOT_SUPPORTED, message, field=f"{field}.mediaType")


def _as_words(part: Part) -> str:
    value = as_json(part)["data"]
    return f"```json\n{msgspec.json.encode(value).decode()}\n```"


def _link(field: str, part: Part) -> str:
    if not part.url.startswith(("http://", "https://")):
        raise wrong(f"{field}.url", "A file's address begins http:// or https://.")
    return f"File: {part.filename} {part.url}" if part.filename else f"File: {part.url}"


def _file(field: str, part: Part) -> NewAttachment:
    _check_file_type(field, part, needed=True)
    if not part.raw:
        raise wrong(f"{field}.raw", "This file is empty.")
    if len(part.raw) > ATTACHMENT_BYTES_MAX:
        raise wrong(f"{field}.raw", f"A file has at most {ATTACHMENT_BYTES_MAX} bytes.")
    if "\x00" in part.filename:
        raise wrong(f"{field}.filename", "A NUL character may stand in no text.")
    return NewAttachment(name=part.filename or "file", mime_type=_bare_type(part), content=part.raw)

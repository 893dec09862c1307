"""A2A messages as messages to an agent: the text, the files, and the original for the task's history."""

import msgspec
from a2a.types import Message as WireMessage
from a2a.types import Part, Role, SendMessageRequest

from carrel.kernel import SCOPE_END, Message, NewAttachment, Provenance
from carrel.kernel.limits import A2A_ID_CHARS_MAX, ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, MESSAGE_CHARS_MAX
from carrel.surfaces.a2a.errors import CONTENT_TYPE_NOT_SUPPORTED, A2aError, invalid_params
from carrel.surfaces.a2a.protobuf_json import check_json_limits, to_json

FILE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf")
_TEXT_TYPES = ("application/json", "application/x-www-form-urlencoded")


def check_message(message: WireMessage) -> None:
    check_id("message.messageId", message.message_id, needed=True)
    check_id("message.contextId", message.context_id)
    check_id("message.taskId", message.task_id)
    if message.role != Role.ROLE_USER:
        raise invalid_params("message.role", "The role of a message to an agent must be ROLE_USER.")
    if not message.parts:
        raise invalid_params("message.parts", "A message needs at least one part.")


def check_id(field: str, text: str, *, needed: bool = False) -> None:
    if needed and not text:
        raise invalid_params(field, f"{field} is missing.")
    if len(text) > A2A_ID_CHARS_MAX or SCOPE_END in text or "\x00" in text:
        raise invalid_params(
            field, f"{field} must be at most {A2A_ID_CHARS_MAX} characters, without control characters."
        )


def to_message(request: SendMessageRequest, actor_id: str, sender_id: str) -> Message:
    """Return the message for `deliver`; files are taken out of the original and become attachments."""
    texts: list[str] = []
    files: list[NewAttachment] = []
    original = SendMessageRequest(message=request.message, metadata=request.metadata)
    for n, part in enumerate(original.message.parts):
        field = f"message.parts.{n}"
        if "\x00" in part.filename:
            raise invalid_params(f"{field}.filename", "Text must not contain NUL characters.")
        match part.WhichOneof("content"):
            case "text":
                _check_text_type(field, part)
                texts.append(part.text)
            case "data":
                data = msgspec.json.encode(to_json(part)["data"]).decode()
                texts.append(f"```json\n{data}\n```")
            case "url":
                _check_file_type(field, part, needed=False)
                texts.append(_link(field, part))
            case "raw":
                files.append(_file(field, part))
                part.raw = b""
            case _:
                raise invalid_params(field, "A part needs one of text, raw, url and data.")
    text = "\n\n".join(filter(None, texts))
    _check_bounds(text, files)
    kept = to_json(original)
    # A message sent over gRPC has not been checked as JSON yet.
    check_json_limits(kept)
    return Message(
        text=text,
        provenance=Provenance(kind="a2a", actor=actor_id),
        sender_id=sender_id,
        attachments=tuple(files),
        original=msgspec.json.encode(kept),
    )


def _check_bounds(text: str, files: list[NewAttachment]) -> None:
    """Refuse what `deliver` would refuse too, but with the names of A2A's fields."""
    if "\x00" in text:
        raise invalid_params("message.parts", "Text must not contain NUL characters.")
    if not text.strip() and not files:
        raise invalid_params("message.parts", "A message needs some text.")
    if len(text) > MESSAGE_CHARS_MAX:
        raise invalid_params("message.parts", f"A message has at most {MESSAGE_CHARS_MAX} characters.")
    if len(files) > ATTACHMENTS_MAX:
        raise invalid_params("message.parts", f"A message has at most {ATTACHMENTS_MAX} files.")


def _check_text_type(field: str, part: Part) -> None:
    kind = _bare_type(part)
    if kind and not kind.startswith("text/") and kind not in _TEXT_TYPES:
        raise _unsupported(field, f"Text parts of type {kind[:100]} are not supported.")


def _check_file_type(field: str, part: Part, *, needed: bool) -> None:
    kind = _bare_type(part)
    if (needed or kind) and kind not in FILE_TYPES:
        raise _unsupported(field, f"A file must be one of {', '.join(FILE_TYPES)}, not '{kind[:100]}'.")


def _bare_type(part: Part) -> str:
    return part.media_type.partition(";")[0].strip().lower()


def _unsupported(field: str, message: str) -> A2aError:
    return A2aError(CONTENT_TYPE_NOT_SUPPORTED, message, field=f"{field}.mediaType")


def _link(field: str, part: Part) -> str:
    if not part.url.startswith(("http://", "https://")):
        raise invalid_params(f"{field}.url", "The URL of a file must start with http:// or https://.")
    return f"File: {part.filename} {part.url}" if part.filename else f"File: {part.url}"


def _file(field: str, part: Part) -> NewAttachment:
    _check_file_type(field, part, needed=True)
    if not part.raw:
        raise invalid_params(f"{field}.raw", "This file is empty.")
    if len(part.raw) > ATTACHMENT_BYTES_MAX:
        raise invalid_params(f"{field}.raw", f"A file has at most {ATTACHMENT_BYTES_MAX} bytes.")
    return NewAttachment(name=part.filename or "file", mime_type=_bare_type(part), content=part.raw)

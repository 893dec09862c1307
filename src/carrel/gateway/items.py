"""Items of Open Responses as gateways build them, and the files in those that they are given. Pure."""

import base64
import json
import re
from typing import Any

from msgspec import Struct

from carrel.gateway.model import Item
from carrel.kernel import clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX

IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
PDF = "application/pdf"
EMBEDDED = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?;base64,(?P<data>.*)", re.DOTALL)
_TEXTUAL = re.compile(r"text/.*|application/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|javascript|x-ndjson|x-sh|sql)")
NOT_SENT = "[Not sent: "
_NOT_SENT = re.compile(rf"{re.escape(NOT_SENT)}(?P<name>.*)\. This model cannot be given it\.\]")


def text_part(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": []}


def message_item(*parts: Item) -> Item:
    return {"type": "message", "role": "assistant", "status": "completed", "content": list(parts)}


def call_item(call_id: str, name: str, arguments: str) -> Item:
    call = {"type": "function_call", "call_id": call_id, "name": name}
    return call | {"arguments": arguments, "status": "completed"}


def thought_item(text: str, **more: str) -> Item:
    """Return a thought of the model, with what its server wants back with it."""
    return {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}], **more}


def input_text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def input_file(address: str, name: str | None = None) -> Item:
    named = {} if name is None else {"filename": name}
    return {"type": "input_file", "file_data" if address.startswith("data:") else "file_url": address} | named


def input_image(address: str, detail: str = "auto") -> Item:
    return {"type": "input_image", "image_url": address, "detail": detail}


def incomplete(reason: str | None) -> Item:
    """Return how a response says why it was cut short; nothing without a reason."""
    return {"status": "incomplete", "incomplete_details": {"reason": reason}} if reason else {}


def json_value(text: Any) -> Any:
    """Return the value of a JSON text; None for anything else."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None


def json_object(text: Any) -> Item:
    """Return the object in a JSON text; an empty one for anything else."""
    found = json_value(text)
    return found if isinstance(found, dict) else {}


def data_url(media_type: str, data: str) -> str:
    return f"data:{media_type};base64,{data}"


class GivenFile(Struct, frozen=True, kw_only=True):
    """An image or a file: embedded, with base64 `data`, or linked, with `url`; neither if its content is missing."""

    is_image: bool
    name: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""

    @property
    def text(self) -> str | None:
        """The content of a text file; None for any other."""
        if not self.data or not _TEXTUAL.fullmatch(self.media_type):
            return None
        try:
            return base64.b64decode(self.data).decode()
        except ValueError:
            return None


def read_file(part: Item) -> GivenFile:
    """Return the image or file in a content part that is not text; for other kinds, only the type is known."""
    is_image = part.get("type") == "input_image"
    if not is_image and part.get("type") != "input_file":
        return GivenFile(is_image=False, name=str(part.get("type")))
    address = part.get("image_url") or part.get("file_data") or part.get("file_url")
    address = address if isinstance(address, str) else ""
    name = part.get("filename")
    name = name if isinstance(name, str) else ""
    embedded = EMBEDDED.fullmatch(address)
    if embedded is None:
        is_url = address.startswith(("http://", "https://"))
        return GivenFile(is_image=is_image, name=name, url=address if is_url else "")
    return GivenFile(is_image=is_image, name=name, media_type=embedded["type"].lower(), data=embedded["data"])


def not_sent(file: GivenFile) -> str:
    """Return the text that tells the model about a file it cannot be given."""
    name = file.name or ("an image" if file.is_image else "a file")
    kind = f" ({file.media_type})" if file.media_type else ""
    return f"{NOT_SENT}{clip(one_line(name + kind), NAME_CHARS_MAX)}. This model cannot be given it.]"


def read_not_sent(text: str) -> str | None:
    """Return the file name in such a text; None for any other text."""
    found = _NOT_SENT.fullmatch(text)
    return found["name"] if found else None

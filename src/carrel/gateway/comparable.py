"""An input in one form for all dialects, so that requests of different kinds can be compared. Pure."""

from typing import Any

import msgspec

from carrel.gateway.answers import is_call, is_message
from carrel.gateway.model import Item
from carrel.gateway.prompt import ASSISTANT, USER, content_blocks

_GAP = "\n\n"
_FILE_FIELDS = ("type", "filename", "image_url", "file_data", "file_url", "refusal")


def comparable(given: Any) -> list[Item]:
    """Return an input as its least common form: texts of one side in a row as one, and calls without their spaces.

    Dialects differ in how they cut a turn into messages and parts, and in whether context is a message of its own.
    """
    items = given if isinstance(given, list) else [{"role": USER, "content": given}]
    found: list[Item] = []
    for item in items:
        if is_message(item):
            _add_message(found, item)
        elif is_call(item):
            found.append({name: item.get(name) for name in ("type", "call_id", "name")} | _arguments(item))
        elif item.get("type") == "reasoning":
            found.append({"type": "reasoning", "content": item.get("content")})
        else:
            found.append(item)
    return found


def _add_message(found: list[Item], item: Item) -> None:
    role = ASSISTANT if item.get("role") == ASSISTANT else USER
    if not found or found[-1].get("role") != role:
        found.append({"role": role, "content": []})
    content = found[-1]["content"]
    for block in content_blocks(item.get("content")):
        if block.get("type") != "text":
            content.append({name: block[name] for name in _FILE_FIELDS if name in block})
        elif content and "text" in content[-1]:
            content[-1] = {"text": content[-1]["text"] + _GAP + block["text"]}
        else:
            content.append({"text": block["text"]})


def _arguments(item: Item) -> Item:
    written = str(item.get("arguments", ""))
    try:
        return {"arguments": msgspec.json.encode(msgspec.json.decode(written)).decode()}
    except (msgspec.DecodeError, RecursionError):
        return {"arguments": written}

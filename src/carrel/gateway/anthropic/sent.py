"""What a stored request of the Messages API contained, in the form of Open Responses. Pure."""

import base64
from typing import Any

import msgspec

from carrel.gateway.anthropic.request import UNREADABLE_ARGUMENTS
from carrel.gateway.model import Item, SentStep


def read_messages_request(request: Item) -> SentStep:
    """Read a stored request."""
    system = [block["text"] for block in request.get("system", ())]
    return SentStep(
        model=request["model"],
        instructions=system[0] if system else None,
        input=[item for message in request["messages"] for item in _items(message)],
        tools=tuple(tool["name"] for tool in request.get("tools", ())),
    )


def _items(message: Item) -> list[Item]:
    """Return the items of a message; everything except calls, results and thoughts becomes parts of one item."""
    role, items = message["role"], []
    parts: list[Item] = []
    for block in message["content"]:
        item = _item(block)
        if item is not None:
            items.append(item)
            continue
        if not parts or items[-1].get("content") is not parts:
            parts = []
            status = {"status": "completed"} if role == "assistant" else {}
            items.append({"type": "message", "role": role} | status | {"content": parts})
        said = {"type": "output_text", "text": block["text"], "annotations": []} if role == "assistant" else None
        parts.append(said or _part(block))
    return items


def _item(block: Item) -> Item | None:
    match block["type"]:
        case "tool_use":
            item = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
            return item | {"arguments": _arguments(block["input"]), "status": "completed"}
        case "tool_result":
            return {"type": "function_call_output", "call_id": block["tool_use_id"], "output": _output(block)}
        case "thinking":
            content = [{"type": "reasoning_text", "text": block["thinking"]}]
            return {"type": "reasoning", "summary": [], "content": content, "encrypted_content": block["signature"]}
        case "redacted_thinking":
            return {"type": "reasoning", "summary": [], "encrypted_content": block["data"]}
        case _:
            return None


def _arguments(given: Item) -> str:
    if given.keys() == {UNREADABLE_ARGUMENTS}:
        return str(given[UNREADABLE_ARGUMENTS])
    return msgspec.json.encode(given).decode()


def _output(block: Item) -> Any:
    content = block.get("content", "")
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(block: Item) -> Item:
    if block["type"] == "text":
        return {"type": "input_text", "text": block["text"]}
    source = block["source"]
    if block["type"] == "image":
        return {"type": "input_image", "image_url": _address(source), "detail": "auto"}
    named = {"filename": block["title"]} if "title" in block else {}
    field = "file_url" if source["type"] == "url" else "file_data"
    return {"type": "input_file"} | named | {field: _address(source)}


def _address(source: Item) -> str:
    match source["type"]:
        case "url":
            return str(source["url"])
        case "text":
            return f"data:{source['media_type']};base64,{base64.b64encode(source['data'].encode()).decode()}"
        case _:
            return f"data:{source['media_type']};base64,{source['data']}"

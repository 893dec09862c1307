"""What a stored Chat Completions request contained, in the form of Open Responses. Pure."""

from typing import Any

from carrel.gateway.chat.request import THOUGHT_FIELDS
from carrel.gateway.model import Item, SentStep
from carrel.gateway.prompt import CONTEXT


def read_chat_request(request: Item) -> SentStep:
    """Read a stored request."""
    messages = request["messages"]
    # Context messages have this role as well, but are never first.
    system = [message["content"] for message in messages[:1] if message["role"] == "system"]
    return SentStep(
        model=request["model"],
        instructions=system[0] if system else None,
        input=[item for message in messages[len(system) :] for item in _items(message)],
        tools=tuple(tool["function"]["name"] for tool in request.get("tools", ())),
    )


def _items(message: Item) -> list[Item]:
    match message["role"]:
        case "tool":
            output = message["content"]
            return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}]
        case "assistant":
            return [*_thoughts(message), *_said(message), *map(_call, message.get("tool_calls", ()))]
        case role:
            shown = "user" if role == "user" else CONTEXT
            return [{"type": "message", "role": shown, "content": _parts(message["content"])}]


def _thoughts(message: Item) -> list[Item]:
    found = [(field, message[field]) for field in THOUGHT_FIELDS if field in message]
    return [
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}], "field": field}
        for field, text in found
    ]


def _said(message: Item) -> list[Item]:
    parts: list[Item] = []
    if message["content"]:
        parts.append({"type": "output_text", "text": message["content"], "annotations": []})
    if "refusal" in message:
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    return [{"type": "message", "role": "assistant", "status": "completed", "content": parts}] if parts else []


def _call(call: Item) -> Item:
    function = call["function"]
    item = {"type": "function_call", "call_id": call["id"], "name": function["name"]}
    return item | {"arguments": function["arguments"], "status": "completed"}


def _parts(content: Any) -> list[Item]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return [_part(part) for part in content]


def _part(part: Item) -> Item:
    match part["type"]:
        case "image_url":
            image = part["image_url"]
            return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail", "auto")}
        case "file":
            return {"type": "input_file", **part["file"]}
        case _:
            return {"type": "input_text", "text": part["text"]}

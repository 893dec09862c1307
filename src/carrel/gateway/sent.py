"""What a stored step told its gateway, whatever dialect it was sent in. Pure."""

import json

from msgspec import structs

from carrel.gateway.a2a.message import LEFT_OUT, read_sent_message
from carrel.gateway.anthropic.sent import read_messages_request
from carrel.gateway.chat.sent import read_chat_request
from carrel.gateway.files import read_not_sent
from carrel.gateway.model import Item, SentStep

_TRANSLATED = {"anthropic": read_messages_request, "chat": read_chat_request}


def read_sent(kind: str, body: str) -> SentStep:
    """Read the exact text that a gateway of this kind was sent; empty text if nothing was."""
    if kind == "a2a":
        return SentStep(input=read_sent_message(body), left_out=LEFT_OUT)
    if not body:
        return SentStep(input=[])
    request = json.loads(body)
    if kind in _TRANSLATED:
        sent = _TRANSLATED[kind](request)
        return structs.replace(sent, left_out=_left_out(sent.input))
    return SentStep(
        model=request["model"],
        instructions=request.get("instructions"),
        input=request["input"],
        tools=tuple(tool["name"] for tool in request["tools"]),
    )


def _left_out(items: list[Item]) -> tuple[str, ...]:
    """Return the files in place of which the model was told that it does not get them."""
    names = (read_not_sent(text) for item in items for text in _heard(item))
    return tuple(name for name in names if name is not None)


def _heard(item: Item) -> list[str]:
    """Return the texts of an item that may stand in place of a file: parts, or lines where there are no parts."""
    heard = item.get("output") if item["type"] == "function_call_output" else item.get("content")
    if isinstance(heard, str):
        return heard.split("\n")
    is_said = item.get("role") == "assistant" or item["type"] == "reasoning"
    return [] if is_said else [part["text"] for part in heard or () if "text" in part]

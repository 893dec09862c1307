"""What became of a step whose answer was lost, read from the history that OpenClaw keeps. Pure.

Work that was begun is not begun again: its answer is taken from the history, or the agent is asked to continue. A
message that nothing followed is sent again; OpenClaw then replaces the earlier copy.
"""

from typing import Any

import msgspec
from msgspec import structs

from carrel.gateway.items import call_item, input_text, message_item, text_part
from carrel.gateway.model import Item, Step
from carrel.gateway.openclaw.dialect import PREFIX
from carrel.gateway.prompt import CONTEXT, USER, content_blocks, listed_items

HISTORY_MESSAGES_MAX = 100
GO_ON = "The connection was lost before your answer arrived. Go on with what the last message asks for, and answer it."
# The largest assumed clock difference between two machines.
_CLOCKS_APART_MS = 5_000
# The history cuts long texts.
_COMPARED_CHARS = 1_000


def since_heard(step: Step, history: Any) -> list[Item]:
    """Return what followed the message of a step in the history; nothing if it did not arrive."""
    found = history.get("messages") if isinstance(history, dict) else None
    messages = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    at = max((index for index, one in enumerate(messages) if one.get("role") == USER), default=-1)
    said = _said(msgspec.json.decode(step.body).get("input"))
    if at < 0 or not said or step.lost_at is None:
        return []
    is_later = int(messages[at].get("timestamp") or 0) >= step.lost_at - _CLOCKS_APART_MS
    is_same = said[:_COMPARED_CHARS] in _text(messages[at].get("content"))
    return messages[at + 1 :] if is_later and is_same else []


def answer_among(messages: list[Item]) -> list[Item]:
    """Return the output items of the answer among the messages that followed; none if there is no answer yet."""
    said = [one for one in messages if one.get("role") == "assistant"]
    newest = said[-1] if said else {}
    parts = newest.get("content")
    made = [part for part in content_blocks(parts or []) if part.get("type") == "toolCall"]
    calls = [_call(part) for part in made]
    ours = [call for call in calls if call is not None]
    if calls:
        return ours if len(ours) == len(calls) else []
    text = _text(parts)
    return [message_item(text_part(text))] if newest.get("stopReason") == "stop" and text else []


def asked_to_go_on(step: Step) -> Step:
    """Return a step that repeats no message; instructions, context and tools belong to the run and stay."""
    request = msgspec.json.decode(step.body)
    given = request.get("input")
    context = [item for item in given if item.get("role") == CONTEXT] if isinstance(given, list) else []
    message = {"type": "message", "role": USER, "content": [input_text(GO_ON)]}
    return structs.replace(step, body=msgspec.json.encode(request | {"input": [*context, message]}))


def _said(given: Any) -> str:
    """Return the text that identifies a step in the history: the words of its message, which come last."""
    items = listed_items(given)
    texts = (_texts(item.get("content"))[-1:] if item.get("role") == USER else [item.get("output")] for item in items)
    said = (text.strip() for several in texts for text in several if isinstance(text, str))
    return next(filter(None, said), "")


def _text(content: Any) -> str:
    return "\n".join(_texts(content))


def _texts(content: Any) -> list[str]:
    return [block["text"] for block in content_blocks(content or "") if block.get("type") == "text"]


def _call(part: Item) -> Item | None:
    """Return a call of one of our tools, made directly or by OpenClaw's `tool_call`; None for any other call."""
    name, arguments = part.get("name"), part.get("arguments")
    if name == "tool_call" and isinstance(arguments, dict):
        name, arguments = arguments.get("id"), arguments.get("args")
    if not isinstance(name, str) or not name.startswith(PREFIX):
        return None
    written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    return call_item(part.get("id", ""), name, written)

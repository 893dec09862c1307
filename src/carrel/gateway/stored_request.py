"""What a stored step sent to its gateway, in one form for all dialects, so that any model can be asked again. Pure."""

import json
from typing import Any

import msgspec

from carrel.gateway.a2a.message import LEFT_OUT, read_sent_message
from carrel.gateway.acp.message import LEFT_OUT as NOT_FOR_CODING_AGENTS
from carrel.gateway.acp.message import read_prompt
from carrel.gateway.answers import is_call, is_message
from carrel.gateway.dialects import DIALECTS
from carrel.gateway.model import Item, SentStep
from carrel.gateway.prompt import ASSISTANT, USER, content_blocks, listed_items

_GAP = "\n\n"
_FILE_FIELDS = ("type", "filename", "image_url", "file_data", "file_url", "refusal")
# Gateways that only answer a step; agents behind the other kinds act by themselves.
MODEL_KINDS = frozenset({"builtin", "responses", "chat", "anthropic"})


def read_stored_request(kind: str, body: str) -> SentStep:
    """Read the exact text that a gateway of this kind was sent; empty text if nothing was."""
    if kind == "a2a":
        return SentStep(input=read_sent_message(body), left_out=LEFT_OUT)
    if kind == "acp":
        return SentStep(input=read_prompt(body), left_out=NOT_FOR_CODING_AGENTS)
    return DIALECTS[kind].read_sent(body)


def comparable(given: Any) -> list[Item]:
    """Return an input in a form that can be compared: adjacent texts of one side joined, calls without spaces.

    Dialects differ in how they cut a turn into messages and parts, and in whether context is a message of its own.
    """
    found: list[Item] = []
    for item in listed_items(given):
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


def repeated_request(kind: str, body: str) -> Item:
    """Return what a gateway of this kind was sent as a request of Open Responses, with the same tools.

    What the model was told is kept; options that only its dialect has are dropped.
    """
    request: Item = json.loads(body)
    if not DIALECTS[kind].translates:
        return request
    sent = DIALECTS[kind].read(request)
    told = {"model": sent.model, "instructions": sent.instructions or "", "input": sent.input}
    return told | {"tools": sent.tools, "tool_choice": "auto"}

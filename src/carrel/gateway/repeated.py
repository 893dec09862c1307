"""A stored step as a request of Open Responses, so that any model can be asked again. Pure."""

import json
from typing import Any

from carrel.gateway.model import Item
from carrel.gateway.sent import read_sent

# Gateways that only answer a step; agents behind the other kinds act by themselves.
MODEL_KINDS = frozenset({"builtin", "responses", "chat", "anthropic"})


def repeated_request(kind: str, body: str) -> Item:
    """Return what a gateway of this kind was sent as a request of Open Responses, with the same tools.

    What the model was told is kept; options that only its dialect has are dropped.
    """
    request: Item = json.loads(body)
    if kind not in ("chat", "anthropic"):
        return request
    sent = read_sent(kind, body)
    return {
        "model": sent.model,
        "instructions": sent.instructions or "",
        "input": sent.input,
        "tools": [_function(kind, tool) for tool in request.get("tools", ())],
        "tool_choice": "auto",
    }


def _function(kind: str, tool: dict[str, Any]) -> Item:
    if kind == "chat":
        return {"type": "function", **tool["function"]}
    named = {name: tool[name] for name in ("name", "description") if name in tool}
    return {"type": "function"} | named | {"parameters": tool["input_schema"]}

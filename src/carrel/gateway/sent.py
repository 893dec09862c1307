"""What a stored step told its gateway, whatever dialect it was sent in. Pure."""

import json
from typing import Any

from msgspec import Struct

from carrel.gateway.a2a.message import LEFT_OUT, read_sent_message


class SentStep(Struct, frozen=True, kw_only=True):
    """What a gateway was told in one step, and which parts of the request could not be told.

    `input` is in the form of Open Responses; it is empty if nothing was sent.
    """

    model: str = ""
    instructions: str | None = None
    input: Any
    tools: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def read_sent(kind: str, body: str) -> SentStep:
    """Read the exact text that a gateway of this kind was sent."""
    if kind == "a2a":
        return SentStep(input=read_sent_message(body), left_out=LEFT_OUT)
    request = json.loads(body)
    return SentStep(
        model=request["model"],
        instructions=request.get("instructions"),
        input=request["input"],
        tools=tuple(tool["name"] for tool in request["tools"]),
    )

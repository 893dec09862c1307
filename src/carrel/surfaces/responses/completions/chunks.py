"""The events of a response as chunks of a completion."""

from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from carrel.surfaces.http.streaming import PING
from carrel.surfaces.responses.completions.answers import (
    PARAGRAPH,
    call_of,
    finish_of,
    heading_of,
    refuse_unfinished,
    usage_of,
)
from carrel.surfaces.responses.errors import ResponsesError
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.stream import Events

_ENDS = ("response.completed", "response.failed", "response.incomplete")


async def frames_of(events: Events, *, includes_usage: bool) -> AsyncGenerator[bytes, None]:
    """Yield each chunk as one frame, then the end marker; a failure is a chunk with an error."""
    try:
        async for chunk in _chunks(events, includes_usage=includes_usage):
            yield PING if chunk is None else _frame(chunk)
    except ResponsesError as error:
        yield _frame({"error": error.body()})
    yield b"data: [DONE]\n\n"


async def _chunks(events: Events, *, includes_usage: bool) -> AsyncIterator[Json | None]:
    heading: Json = {}
    messages = calls = 0
    async for event in events:
        if event is None:
            yield None
            continue
        match event["type"]:
            case "response.created":
                heading = heading_of(event["response"], "chat.completion.chunk")
                yield _chunk(heading, {"role": "assistant", "content": "", "refusal": None})
            case "response.queued" if event["response"]["error"]:
                refuse_unfinished(event["response"])
            case "response.output_item.added" if event["item"]["type"] == "message":
                messages += 1
                if messages > 1:
                    yield _chunk(heading, {"content": PARAGRAPH})
            case "response.output_text.delta":
                yield _chunk(heading, {"content": event["delta"]})
            case "response.output_item.done" if event["item"]["type"] == "function_call":
                yield _chunk(heading, {"tool_calls": [{"index": calls} | call_of(event["item"])]})
                calls += 1
            case kind if kind in _ENDS:
                refuse_unfinished(event["response"])
                yield _chunk(heading, {}, finish_of(event["response"]))
                if includes_usage:
                    yield heading | {"choices": [], "usage": usage_of(event["response"])}


def _chunk(heading: Json, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return heading | {"choices": [choice]}


def _frame(value: Json) -> bytes:
    return b"data: %s\n\n" % msgspec.json.encode(value)

"""Shorthands for Open Responses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

Json = dict[str, Any]
WAIT_SECONDS_MAX = 15.0
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
ENDS = ("response.completed", "response.failed", "response.incomplete")


async def post(client: httpx.AsyncClient, said: Any, headers: dict[str, str] | None = None, **more: Any) -> Any:
    """Ask for a response, whatever comes of it."""
    return await client.post("/v1/responses", json={"model": "carrel", "input": said, **more}, headers=headers or {})


async def respond(client: httpx.AsyncClient, said: Any, headers: dict[str, str] | None = None, **more: Any) -> Json:
    """The response to an input."""
    answer = await post(client, said, headers, **more)
    assert answer.status_code == 200, answer.text
    response: Json = answer.json()
    return response


async def read(client: httpx.AsyncClient, response_id: str) -> Json:
    """A response as it is now."""
    answer = await client.get(f"/v1/responses/{response_id}")
    assert answer.status_code == 200, answer.text
    response: Json = answer.json()
    return response


def text_of(response: Json) -> str:
    """Everything that a response says."""
    messages = [item for item in response["output"] if item["type"] == "message"]
    return "".join(part["text"] for item in messages for part in item["content"])


def calls_of(response: Json) -> list[Json]:
    """The calls that a response leaves to its caller."""
    return [item for item in response["output"] if item["type"] == "function_call"]


def output(call: Json, said: Any) -> Json:
    """What a call brought."""
    return {"type": "function_call_output", "call_id": call["call_id"], "output": said}


def refused(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and field of a refusal, whose body must be whole."""
    body = answer.json()
    assert set(body) == {"error"}, body
    error = body["error"]
    assert set(error) == {"message", "type", "code", "param"}
    return answer.status_code, error["code"], error["param"]


@asynccontextmanager
async def streaming(client: httpx.AsyncClient, said: Any, **more: Any) -> AsyncIterator[AsyncIterator[Json]]:
    """The events of a response as they come; what is wrong with a frame fails the test."""
    body = {"model": "carrel", "input": said, "stream": True, **more}
    async with asyncio.timeout(WAIT_SECONDS_MAX), client.stream("POST", "/v1/responses", json=body) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer)


async def _events(answer: httpx.Response) -> AsyncIterator[Json]:
    numbers = 0
    is_done = False
    async for frame in _frames(answer):
        assert not is_done, f"behind the end: {frame}"
        if frame == ["data: [DONE]"]:
            is_done = True
            continue
        name, content = frame
        event: Json = json.loads(content.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event["sequence_number"] == numbers
        numbers += 1
        yield event
    assert is_done, "no [DONE]"


async def _frames(answer: httpx.Response) -> AsyncIterator[list[str]]:
    frame: list[str] = []
    async for line in answer.aiter_lines():
        if line:
            frame.append(line)
        elif frame and not frame[0].startswith(":"):
            yield frame
            frame = []
        else:
            frame = []


async def events_of(client: httpx.AsyncClient, said: Any, **more: Any) -> list[Json]:
    """Every event of a response."""
    async with streaming(client, said, **more) as events:
        return [event async for event in events]


def deltas(events: list[Json]) -> str:
    """The text that was streamed."""
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")

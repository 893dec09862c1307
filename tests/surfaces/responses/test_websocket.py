"""The WebSocket transport: one request at a time, and unstored responses known to their connection alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from tests.harness.server import HttpServer
from tests.surfaces.responses.client import ENDS, WAIT_SECONDS_MAX, Json, deltas, text_of


@asynccontextmanager
async def connected(server: HttpServer, token: str = "", **more: str) -> AsyncIterator[ClientConnection]:
    url = server.url.replace("http", "ws", 1) + "/v1/responses"
    headers = {"Authorization": f"Bearer {token or server.owner}"} | more
    async with asyncio.timeout(WAIT_SECONDS_MAX), connect(url, additional_headers=headers) as socket:
        yield socket


async def ask(socket: ClientConnection, said: Any, **more: Any) -> list[Json]:
    """Everything that one request is answered by."""
    await socket.send(json.dumps({"type": "response.create", "model": "carrel", "input": said, **more}))
    events: list[Json] = []
    while not events or events[-1]["type"] not in (*ENDS, "error"):
        events.append(json.loads(await socket.recv()))
    return events


async def test_a_request_is_answered_by_its_events_one_after_the_other(server: HttpServer) -> None:
    async with connected(server) as socket:
        for said in ("first", "second"):
            events = await ask(socket, said)
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            assert deltas(events) == f"echo: {said}"
            assert events[-1]["type"] == "response.completed"


async def test_what_is_not_stored_is_gone_on_from_on_its_connection_alone(server: HttpServer) -> None:
    async with connected(server) as socket:
        first = (await ask(socket, "cobalt", store=False))[-1]["response"]
        second = (await ask(socket, "what?", store=False, previous_response_id=first["id"]))[-1]["response"]
        assert text_of(second) == "echo: what?"
        assert len(server.agent.talk()) == 3
    async with connected(server) as other:
        (error,) = await ask(other, "again", previous_response_id=second["id"])
        assert (error["status"], error["error"]["code"]) == (404, "previous_response_not_found")
        assert text_of((await ask(other, "recovered"))[-1]["response"]) == "echo: recovered"


async def test_going_on_in_vain_ends_what_was_kept(server: HttpServer) -> None:
    async with connected(server) as socket:
        first = (await ask(socket, "hello", store=False))[-1]["response"]["id"]
        stray = {"type": "function_call_output", "call_id": "call_of_nobody", "output": "x"}
        (error,) = await ask(socket, [stray], store=False, previous_response_id=first)
        assert (error["status"], error["error"]["param"]) == (400, "input.0.call_id")
        (error,) = await ask(socket, "stale", store=False, previous_response_id=first)
        assert error["error"]["code"] == "previous_response_not_found"


async def test_what_is_wrong_is_told_and_the_connection_stays(server: HttpServer) -> None:
    async with connected(server) as socket:
        await socket.send("{")
        assert json.loads(await socket.recv())["error"]["code"] == "invalid_json"
        (error,) = await ask(socket, "x", stream=True)
        assert (error["status"], error["error"]["param"]) == (400, "stream")
        (error,) = await ask(socket, "x", nonsense=1)
        assert error["error"]["param"] == "nonsense"
        assert (await ask(socket, "fail"))[-1]["type"] == "response.failed"
        assert deltas(await ask(socket, "still here")) == "echo: still here"


async def test_nobody_without_a_token_is_let_in(server: HttpServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connected(server, "crl_owner_1_2"):
            pass
    assert refused.value.response.status_code == 401


async def test_a_connection_takes_no_idempotency_key_for_it_carries_many_requests(server: HttpServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connected(server, **{"X-Idempotency-Key": "k1"}):
            pass
    assert refused.value.response.status_code == 400
    assert json.loads(refused.value.response.body or b"")["error"]["param"] == "X-Idempotency-Key"

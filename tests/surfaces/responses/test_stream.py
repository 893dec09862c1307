"""Streams of a response: which events, in which order, and that what was sent is what is stored."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from carrel.gateway import open_gateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import DROP, MODEL, Gate, ScriptedGateway, call_item, http_error, message_item, raw, text
from tests.surfaces.responses.client import ENDS, Json, deltas, events_of, read, respond, streaming, text_of


@pytest.fixture
async def house_and_model(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[HttpServer, ScriptedGateway]]:
    """A server whose agents reach a scripted model over HTTP."""
    wire = Wire()
    with ScriptedGateway() as model:
        settings = GatewaySettings(kind="responses", base_url=model.base_url, model=MODEL)
        monkeypatch.setattr(server.agent, "take", open_gateway("scripted", settings, wire).take)
        yield server, model
    await wire.close()


def ends_of(events: list[Json]) -> list[str]:
    return [event["type"] for event in events if event["type"] in ENDS]


@requirement("S2.x.responses.terminal")
async def test_a_stream_tells_a_response_from_its_making_to_its_one_end(on_either: httpx.AsyncClient) -> None:
    events = await events_of(on_either, "hello")
    kinds = [event["type"] for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert set(kinds[4:-4]) == {"response.output_text.delta"}
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert deltas(events) == "echo: hello"
    assert events[0]["response"]["status"] == "in_progress"
    assert events[0]["response"]["usage"] is None
    assert {event["item_id"] for event in events if "item_id" in event} == {events[2]["item"]["id"]}
    whole = events[-1]["response"]
    assert whole["output"] == [events[-2]["item"]]
    assert await read(on_either, whole["id"]) == whole


async def test_text_is_told_while_it_is_spoken(house_and_model: tuple[HttpServer, ScriptedGateway]) -> None:
    server, model = house_and_model
    gate = Gate()
    model.script(text("Once ", gate, "upon a time."))
    async with server.client() as client, streaming(client, "a story") as events:
        seen = []
        async for event in events:
            seen.append(event)
            if event["type"] == "response.output_text.delta" and event["delta"] == "Once ":
                gate.open()
    assert deltas(seen) == "Once upon a time."
    assert text_of(seen[-1]["response"]) == "Once upon a time."


@requirement("S2.x.responses.terminal")
async def test_a_step_that_is_taken_again_goes_on_where_its_text_had_got_to(
    house_and_model: tuple[HttpServer, ScriptedGateway],
) -> None:
    server, model = house_and_model
    model.script(text("A whole ", DROP), text("A ", "whole ", "story."))
    async with server.client() as client:
        events = await events_of(client, "a story")
    assert ends_of(events) == ["response.completed"]
    assert deltas(events) == "A whole story."
    assert [item["status"] for item in events[-1]["response"]["output"]] == ["completed"]


@requirement("S2.x.responses.terminal")
async def test_a_step_that_says_something_else_the_second_time_is_told_as_another_item(
    house_and_model: tuple[HttpServer, ScriptedGateway],
) -> None:
    server, model = house_and_model
    first = Gate()
    model.script(text("Half a ", first, DROP), text("Something else."))
    async with server.client() as client, streaming(client, "a story") as events:
        seen = []
        async for event in events:
            seen.append(event)
            if event["type"] == "response.output_text.delta":
                first.open()
    assert ends_of(seen) == ["response.completed"]
    whole = seen[-1]["response"]
    assert [(item["status"], item["content"][0]["text"]) for item in whole["output"]] == [
        ("incomplete", "Half a "), ("completed", "Something else."),
    ]  # fmt: skip
    for item in whole["output"]:
        sent = [event["delta"] for event in seen if event.get("item_id") == item["id"] and "delta" in event]
        assert "".join(sent) == item["content"][0]["text"]
    async with server.client() as client:
        assert text_of(await read(client, whole["id"])) == "Something else."


async def test_what_is_said_beside_a_call_of_ours_is_an_item_of_its_own(
    house_and_model: tuple[HttpServer, ScriptedGateway],
) -> None:
    server, model = house_and_model
    aside = text("Let me look.")
    model.script(
        type(aside)(output=[message_item("Let me look."), call_item("session_status", {})], chunks=aside.chunks),
        text("All ", "is well."),
    )
    async with server.client() as client:
        events = await events_of(client, "how are you?")
        whole = events[-1]["response"]
        said = [(item["phase"], item["content"][0]["text"]) for item in whole["output"]]
        assert said == [("commentary", "Let me look."), ("final_answer", "All is well.")]
        assert deltas(events) == "Let me look.All is well."
        assert await read(client, whole["id"]) == whole
        assert whole["usage"]["total_tokens"] == 36


@requirement("S2.x.responses.terminal")
async def test_a_failed_response_ends_its_stream_as_failed(
    house_and_model: tuple[HttpServer, ScriptedGateway],
) -> None:
    server, model = house_and_model
    model.script(http_error(400, "no such thing"))
    async with server.client() as client:
        events = await events_of(client, "hello")
    assert ends_of(events) == ["response.failed"]
    assert events[-1]["response"]["status"] == "failed"
    assert "no such thing" in events[-1]["response"]["error"]["message"]


async def test_a_reply_that_was_cut_short_is_incomplete(
    house_and_model: tuple[HttpServer, ScriptedGateway],
) -> None:
    server, model = house_and_model
    cut: Json = {
        "id": "resp_1", "object": "response", "status": "incomplete", "output": [message_item("Once upon")],
        "incomplete_details": {"reason": "max_output_tokens"}, "usage": None, "error": None,
    }  # fmt: skip
    model.rule = lambda _: raw(json.dumps(cut).encode())
    async with server.client() as client:
        response = await respond(client, "a story", max_output_tokens=16)
        assert (response["status"], text_of(response)) == ("incomplete", "Once upon")
        assert response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert response["output"][0]["status"] == "incomplete"
        events = await events_of(client, "a story", max_output_tokens=16)
        assert ends_of(events) == ["response.incomplete"]


@requirement("S2.x.responses.terminal")
async def test_a_cancelled_response_ends_its_stream_as_incomplete(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    async with streaming(client, "hold story") as events:
        first = await anext(events)
        await server.agent.reached("story")
        cancelled = await client.post(f"/v1/responses/{first['response']['id']}/cancel")
        rest = [event async for event in events]
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert ends_of(rest) == ["response.incomplete"]
    whole = rest[-1]["response"]
    assert (whole["status"], whole["incomplete_details"]) == ("cancelled", {"reason": "client_cancelled"})


async def test_a_response_that_waits_for_its_turn_says_so(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with streaming(client, "hold one", user="ann") as before:
        await anext(before)
        await server.agent.reached("one")
        async with streaming(client, "two", user="ann") as behind:
            kinds = [(await anext(behind))["type"] for _ in range(2)]
            server.agent.release("one")
            rest = [event async for event in behind]
        assert kinds == ["response.created", "response.queued"]
        assert rest[0]["type"] == "response.in_progress"
        assert deltas(rest) == "echo: two"
        assert ends_of([event async for event in before]) == ["response.completed"]


async def test_where_others_work_text_comes_whole(postgres_url: str) -> None:
    async with (
        open_http_server(postgres_url) as worker,
        open_http_server(postgres_url, works=False) as front,
        front.client(worker.owner) as client,
    ):
        events = await events_of(client, "hello")
        assert [event["delta"] for event in events if "delta" in event] == ["echo: hello"]
        assert ends_of(events) == ["response.completed"]


async def test_a_reader_that_leaves_changes_nothing(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with streaming(client, "hold story") as events:
        response_id = (await anext(events))["response"]["id"]
        await server.agent.reached("story")
    assert (await read(client, response_id))["status"] == "in_progress"
    server.agent.release("story")
    run = (await read(client, response_id))["metadata"]["runId"]
    (await client.get(f"/api/runs/{run}/wait")).raise_for_status()
    assert text_of(await read(client, response_id)) == "echo: hold story"


@requirement("S2.x.responses.terminal")
async def test_a_stream_ends_with_the_session_it_belongs_to(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with streaming(client, "hold story") as events:
        first = await anext(events)
        await server.agent.reached("story")
        deleted = await client.delete(f"/api/sessions/{first['response']['metadata']['sessionKey']}")
        rest = [event async for event in events]
    assert deleted.status_code == 204
    assert ends_of(rest) == ["response.incomplete"]
    assert rest[-1]["response"]["status"] == "cancelled"

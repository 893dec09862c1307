"""Functions that callers execute: their calls are returned, and their outputs continue the same run."""

import json
from typing import Any

import httpx
import pytest

from carrel.kernel.settings import ResponsesSettings, Settings
from carrel.runs.pruner import prune
from carrel.storage import Tx
from tests.harness.server import HttpServer, open_http_server
from tests.surfaces.responses.client import (
    WEATHER,
    Json,
    calls_of,
    events_of,
    output,
    post,
    read,
    refused,
    respond,
    text_of,
)

ROME = "do " + json.dumps([["get_weather", {"city": "Rome"}]])
TWICE = "do " + json.dumps([["get_weather", {"city": "Rome"}], ["get_weather", {"city": "Oslo"}]])


async def ended(client: httpx.AsyncClient, response: Json) -> tuple[str, str | None]:
    """State and reason of the run of a response."""
    run = (await client.get(f"/api/runs/{response['metadata']['runId']}")).json()["run"]
    return run["state"], run["reason"]


async def waiting(client: httpx.AsyncClient) -> Json:
    """How many runs wait for whom."""
    counts: Json = (await client.get("/api/health")).json()["waiting"]
    return counts


async def test_a_call_comes_back_and_its_output_continues_the_same_run(on_either: httpx.AsyncClient) -> None:
    first = await respond(on_either, ROME, tools=[WEATHER])
    (call,) = first["output"]
    assert first["status"] == "completed"
    assert (call["type"], call["name"], call["status"]) == ("function_call", "get_weather", "completed")
    assert json.loads(call["arguments"]) == {"city": "Rome"}
    run = (await on_either.get(f"/api/runs/{first['metadata']['runId']}")).json()["run"]
    assert (run["state"], run["waitingFor"]) == ("waiting", "tool_output")
    second = await respond(on_either, [output(call, "sunny")], tools=[WEATHER], previous_response_id=first["id"])
    assert (second["status"], text_of(second)) == ("completed", "done")
    assert second["metadata"] == first["metadata"]
    assert second["id"] != first["id"]
    assert (await read(on_either, first["id"])) == first


async def test_a_loop_goes_on_as_long_as_there_are_calls(client: httpx.AsyncClient) -> None:
    one = await respond(client, TWICE, tools=[WEATHER])
    two = await respond(
        client, [output(calls_of(one)[0], "sunny")], tools=[WEATHER], previous_response_id=one["id"]
    )  # fmt: skip
    assert json.loads(calls_of(two)[0]["arguments"]) == {"city": "Oslo"}
    three = await respond(
        client, [output(calls_of(two)[0], "snow")], tools=[WEATHER], previous_response_id=two["id"]
    )  # fmt: skip
    assert text_of(three) == "done"
    assert len({response["metadata"]["runId"] for response in (one, two, three)}) == 1
    assert [(await read(client, response["id"]))["status"] for response in (one, two)] == ["completed", "completed"]


async def test_outputs_may_come_by_the_session_alone(client: httpx.AsyncClient) -> None:
    first = await respond(client, ROME, tools=[WEATHER], user="ann")
    second = await respond(client, [output(calls_of(first)[0], "sunny")], tools=[WEATHER], user="ann")
    assert second["metadata"] == first["metadata"]
    assert text_of(second) == "done"


async def test_an_output_may_hold_parts_and_words_beside_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    first = await respond(client, ROME, tools=[WEATHER])
    call = calls_of(first)[0]
    parts = [
        {"type": "input_text", "text": "sunny"},
        {"type": "input_image", "image_url": "https://example.com/sky.png"},
    ]
    said = [output(call, parts), {"role": "user", "content": "in one word"}, {"role": "system", "content": "Shout."}]
    second = await respond(client, said, tools=[WEATHER], previous_response_id=first["id"])
    assert text_of(second) == "echo: in one word"
    body = server.agent.bodies[-1]
    assert body["input"][-2] == {"type": "function_call_output", "call_id": call["call_id"], "output": parts}
    assert body["input"][-1]["content"][-1]["text"] == "in one word"
    assert body["instructions"].endswith("Shout.")


async def test_what_is_not_pending_is_refused_and_nothing_happens(client: httpx.AsyncClient) -> None:
    first = await respond(client, ROME, tools=[WEATHER])
    call = calls_of(first)[0]
    stray = output(call | {"call_id": "call_of_nobody"}, "x")
    before: dict[str, Any] = {"tools": [WEATHER], "previous_response_id": first["id"]}
    assert refused(await post(client, [stray], **before)) == (400, "invalid_params", "input.0.call_id")
    assert refused(await post(client, [output(call, "x"), stray], **before))[2] == "input.1.call_id"
    assert refused(await post(client, [output(call, 5)], **before))[2] == "input.0.output"
    assert refused(await post(client, [output(call, "x")]))[2] == "input.0.call_id"
    second = await respond(client, [output(call, "sunny")], **before)
    assert refused(await post(client, [output(call, "sunny")], **before))[2] == "input.0.call_id"
    later = {"tools": [WEATHER], "previous_response_id": second["id"]}
    assert refused(await post(client, [output(call, "sunny")], **later))[2] == "input.0.call_id"


async def test_another_caller_brings_no_outputs(alice: httpx.AsyncClient, client: httpx.AsyncClient) -> None:
    first = await respond(alice, ROME, tools=[WEATHER])
    said = [output(calls_of(first)[0], "poison")]
    assert refused(await post(client, said, previous_response_id=first["id"]))[0] == 404
    key = {"x-openclaw-session-key": first["metadata"]["sessionKey"]}
    assert refused(await post(client, said, key)) == (400, "invalid_params", "input.0.call_id")


async def test_a_caller_that_keeps_the_talk_itself_sends_it_all_again(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    asked = {"role": "user", "content": ROME}
    first = await respond(client, [asked], tools=[WEATHER], store=False)
    call = calls_of(first)[0]
    second = await respond(client, [asked, call, output(call, "sunny")], tools=[WEATHER], store=False)
    assert text_of(second) == "done"
    assert second["metadata"]["sessionKey"] != first["metadata"]["sessionKey"]
    kinds = [item["type"] for item in server.agent.talk()]
    assert kinds == ["message", "function_call", "function_call_output"]


async def test_the_same_talk_sent_again_to_a_waiting_response_goes_on_with_it(client: httpx.AsyncClient) -> None:
    asked = {"role": "user", "content": ROME}
    first = await respond(client, [asked], tools=[WEATHER])
    call = calls_of(first)[0]
    again = [asked, call, output(call, "sunny")]
    second = await respond(client, again, tools=[WEATHER], previous_response_id=first["id"])
    assert second["metadata"] == first["metadata"]
    assert text_of(second) == "done"


async def test_a_new_message_in_the_session_ends_the_wait_for_the_output(on_either: httpx.AsyncClient) -> None:
    first = await respond(on_either, ROME, tools=[WEATHER])
    other = await respond(on_either, "never mind", previous_response_id=first["id"])
    assert text_of(other) == "echo: never mind"
    assert other["metadata"]["runId"] != first["metadata"]["runId"]
    assert await ended(on_either, first) == ("cancelled", "continued")
    late = [output(calls_of(first)[0], "sunny")]
    refusal = refused(await post(on_either, late, tools=[WEATHER], previous_response_id=first["id"]))
    assert refusal == (400, "invalid_params", "input.0.call_id")
    shown = await read(on_either, first["id"])
    assert (shown["status"], shown["output"]) == ("completed", first["output"]), "it was complete and stays so"


async def test_a_wait_ends_when_its_calls_come_back_as_history_elsewhere(on_either: httpx.AsyncClient) -> None:
    asked = {"role": "user", "content": TWICE}
    first = await respond(on_either, [asked], tools=[WEATHER], store=False)
    # Clients write the same arguments in other ways.
    call = calls_of(first)[0] | {"arguments": '{ "city" : "Rome" }'}
    second = await respond(on_either, [asked, call, output(call, "sunny")], tools=[WEATHER], store=False)
    assert await ended(on_either, first) == ("cancelled", "continued")
    rest = [asked, call, output(call, "sunny"), calls_of(second)[0], output(calls_of(second)[0], "snow")]
    assert text_of(await respond(on_either, rest, tools=[WEATHER], store=False)) == "done"
    assert await ended(on_either, second) == ("cancelled", "continued")
    assert await waiting(on_either) == {"person": 0, "program": 0}


async def test_only_the_callers_own_wait_for_just_these_calls_ends(
    client: httpx.AsyncClient, alice: httpx.AsyncClient
) -> None:
    asked = {"role": "user", "content": ROME}
    first = await respond(client, [asked], tools=[WEATHER])
    call = calls_of(first)[0]
    # Some models number their calls, so that an id alone says nothing.
    for other in (call | {"arguments": '{"city": "Oslo"}'}, call | {"name": "get_time"}, call | {"call_id": "call_x"}):
        await respond(client, [asked, other, output(other, "sunny")], tools=[WEATHER])
    await respond(client, [asked, call], tools=[WEATHER])
    await respond(alice, [asked, call, output(call, "sunny")], tools=[WEATHER])
    await respond(alice, "something else")
    assert await ended(client, first) == ("waiting", None)
    second = await respond(client, [output(call, "sunny")], tools=[WEATHER], previous_response_id=first["id"])
    assert text_of(second) == "done"


async def test_a_wait_for_a_program_is_no_wait_for_a_person(client: httpx.AsyncClient) -> None:
    first = await respond(client, ROME, tools=[WEATHER])
    asked = await respond(client, 'do [["request_input", {"question": "Which?"}]]')
    assert await waiting(client) == {"person": 1, "program": 1}
    for who, response in (("program", first), ("person", asked)):
        listed = (await client.get("/api/runs", params={"waitingFor": who})).json()["runs"]
        assert [run["id"] for run in listed] == [response["metadata"]["runId"]]


@pytest.mark.parametrize(("minutes", "hours", "still"), [(60.0, 0.9, True), (60.0, 1.1, False), (0.0, 100, True)])
async def test_a_wait_for_outputs_ends_after_a_time_of_its_own(
    store_url: str, minutes: float, hours: float, still: bool
) -> None:
    settings = Settings(responses=ResponsesSettings(tool_output_wait_minutes=minutes))
    async with open_http_server(store_url, settings=settings) as server, server.client() as client:
        first = await respond(client, ROME, tools=[WEATHER])
        asked = await respond(client, 'do [["request_input", {"question": "Which?"}]]')

        def age(tx: Tx) -> None:
            tx.run("UPDATE runs SET updated_at = updated_at - :ms", ms=int(hours * 3_600_000))
            tx.run("UPDATE entries SET created_at = created_at - :ms", ms=int(hours * 3_600_000))

        await server.db.write(age)
        await server.db.write(lambda tx: prune(tx, settings))
        assert await ended(client, first) == (("waiting", None) if still else ("cancelled", "expired"))
        assert await ended(client, asked) == ("waiting", None)
        assert await waiting(client) == {"person": 1, "program": int(still)}
        shown = await read(client, first["id"])
        assert (shown["status"], shown["output"]) == ("completed", first["output"]), "it was complete and stays so"
        assert shown["completed_at"] <= first["completed_at"] - int(hours * 3_600) + 1, "since then"


async def test_a_response_whose_approval_nobody_gave_was_never_completed(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await client.patch("/api/agents/main", json={"tools": {"allow": ["*"], "deny": [], "ask": ["agents_list"]}})
    begun = await respond(client, 'do [["agents_list", {}]]', background=True)
    await client.get(f"/api/runs/{begun['metadata']['runId']}/wait")
    assert (await read(client, begun["id"]))["status"] == "in_progress"
    await server.db.write(lambda tx: tx.run("UPDATE runs SET updated_at = 1"))
    await server.db.write(lambda tx: prune(tx, Settings()))
    assert (await read(client, begun["id"]))["status"] == "cancelled"


async def test_a_stream_tells_calls_with_their_arguments(client: httpx.AsyncClient) -> None:
    events = await events_of(client, ROME, tools=[WEATHER])
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    response: Json = events[-1]["response"]
    assert response["output"] == [events[-2]["item"]]
    assert events[3]["delta"] == events[4]["arguments"] == response["output"][0]["arguments"]
    assert await read(client, response["id"]) == response


async def test_a_waiting_run_tells_people_what_it_waits_for(client: httpx.AsyncClient) -> None:
    run = (await respond(client, ROME, tools=[WEATHER]))["metadata"]["runId"]
    why = (await client.get(f"/api/runs/{run}/why")).json()
    assert not why["moving"]
    assert "get_weather" in why["reasons"][0]["text"]
    answered = await client.post(f"/api/runs/{run}/answer", json={"text": "sunny"})
    assert answered.status_code == 409


async def test_a_pending_call_outlives_its_house(surface_url: str) -> None:
    async with open_http_server(surface_url) as server, server.client() as client:
        first = await respond(client, ROME, tools=[WEATHER])
        owner = server.owner
    async with open_http_server(surface_url) as server, server.client(owner) as client:
        second = await respond(
            client, [output(calls_of(first)[0], "sunny")], tools=[WEATHER], previous_response_id=first["id"]
        )  # fmt: skip
        assert text_of(second) == "done"
        assert second["metadata"] == first["metadata"]

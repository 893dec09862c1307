"""Reading, cancelling, repeating and compacting responses."""

import httpx
import pytest

from tests.harness.server import HttpServer
from tests.surfaces.responses.client import WEATHER, events_of, post, read, refused, respond, text_of

KEY = "X-Idempotency-Key"


async def test_a_response_in_the_background_is_read_when_it_is_done(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    begun = await respond(client, "hold story", background=True)
    assert begun["status"] in ("queued", "in_progress")
    assert (begun["output"], begun["usage"], begun["background"]) == ([], None, True)
    await server.agent.reached("story")
    assert (await read(client, begun["id"]))["status"] == "in_progress"
    server.agent.release("story")
    (await client.get(f"/api/runs/{begun['metadata']['runId']}/wait")).raise_for_status()
    assert text_of(await read(client, begun["id"])) == "echo: hold story"


async def test_a_response_that_has_ended_is_not_cancelled(client: httpx.AsyncClient) -> None:
    ended = await respond(client, "hello")
    assert refused(await client.post(f"/v1/responses/{ended['id']}/cancel"))[:2] == (409, "already_ended")
    assert await read(client, ended["id"]) == ended


async def test_a_response_that_waits_for_its_caller_can_be_given_up(client: httpx.AsyncClient) -> None:
    waiting = await respond(client, 'do [["get_weather", {}]]', tools=[WEATHER])
    cancelled = (await client.post(f"/v1/responses/{waiting['id']}/cancel")).json()
    assert cancelled["status"] == "cancelled"
    assert (await client.post(f"/v1/responses/{waiting['id']}/cancel")).json()["status"] == "cancelled"


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_is_not_to_be_stored_can_be_neither_read_nor_cancelled_nor_gone_on_from(
    on_either: httpx.AsyncClient, streamed: bool
) -> None:
    response = (
        (await events_of(on_either, "hello", store=False))[-1]["response"]
        if streamed
        else await respond(on_either, "hello", store=False)
    )
    assert (response["store"], text_of(response)) == (False, "echo: hello")
    path = f"/v1/responses/{response['id']}"
    assert refused(await on_either.get(path))[:2] == (404, "not_found")
    assert refused(await on_either.post(f"{path}/cancel"))[:2] == (404, "not_found")
    unknown = (404, "previous_response_not_found", "previous_response_id")
    assert refused(await post(on_either, "x", previous_response_id=response["id"])) == unknown
    compact = {"model": "carrel", "previous_response_id": response["id"]}
    assert refused(await on_either.post("/v1/responses/compact", json=compact)) == unknown


async def test_what_is_made_in_the_background_must_be_stored_or_streamed(client: httpx.AsyncClient) -> None:
    unread = await post(client, "hello", store=False, background=True)
    assert refused(unread) == (400, "invalid_params", "store")
    streamed = await events_of(client, "hello", store=False, background=True)
    assert streamed[-1]["type"] == "response.completed"


async def test_the_same_request_under_one_key_is_one_response(on_either: httpx.AsyncClient) -> None:
    first = await post(on_either, "hello", {KEY: "k1"})
    again = await post(on_either, "hello", {KEY: "k1"})
    assert "Idempotent-Replay" not in first.headers
    assert again.headers["Idempotent-Replay"] == "true"
    assert again.json() == first.json()
    streamed = await post(on_either, "hello", {KEY: "k2"})
    assert streamed.json()["id"] != first.json()["id"]
    assert refused(await post(on_either, "other", {KEY: "k1"}))[:2] == (409, "idempotency_mismatch")
    assert refused(await post(on_either, "x", {KEY: "k" * 201}))[:2] == (400, "invalid_params")


async def test_a_stream_can_be_asked_for_again_under_its_key(server: HttpServer, client: httpx.AsyncClient) -> None:
    client.headers[KEY] = "stream-1"
    first = await events_of(client, "hello")
    again = await events_of(client, "hello")
    assert again[-1] == first[-1] | {"sequence_number": again[-1]["sequence_number"]}
    assert len(server.agent.bodies) == 1


async def test_responses_go_with_their_session(client: httpx.AsyncClient) -> None:
    response = await respond(client, "hello")
    deleted = await client.delete(f"/api/sessions/{response['metadata']['sessionKey']}")
    assert deleted.status_code == 204
    assert refused(await client.get(f"/v1/responses/{response['id']}"))[0] == 404


async def test_an_id_with_a_nul_names_nothing(on_either: httpx.AsyncClient) -> None:
    assert refused(await on_either.get("/v1/responses/a%00"))[:2] == (400, "invalid_params")
    assert refused(await on_either.post("/v1/responses/%00/cancel"))[:2] == (400, "invalid_params")

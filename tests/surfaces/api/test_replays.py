"""Replays: a stored step is asked once more, and nothing of it takes effect."""

import json

import httpx
import pytest

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, run_of, send_and_wait

pytestmark = pytest.mark.anyio
ADD = "do " + json.dumps([["artifact_add", {"text": "milk", "artifactId": "list"}]])


@requirement("P.replay")
async def test_a_step_is_asked_once_more_with_the_same_request(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "What is left to do?")
    answer = await client.post(f"/api/runs/{run['id']}/replay", json={"gateway": "spare", "model": "other-model"})
    assert answer.status_code == 200, answer.text
    told, (before, after) = answer.json(), server.agent.bodies
    changed = {name for name in before if before[name] != after.get(name)}
    assert changed == {"model", "user"}
    assert after["model"] == "other-model"
    assert told["original"]["text"] == told["replayed"]["text"] == "echo: What is left to do?"
    assert told["difference"] == {"same": True, "diff": ""}
    assert (await run_of(client, run["id"])) == run


@requirement("P.replay.effects")
async def test_the_calls_of_a_replay_are_shown_and_not_made(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, f"Add the milk.\n{ADD}")
    listed = await client.get(f"/api/runs/{run['id']}/artifacts")
    entries = await client.get("/api/sessions/main/history", params={"includeTools": "true"})
    answer = (await client.post(f"/api/runs/{run['id']}/replay", json={"step": 1})).json()
    assert [call["name"] for call in answer["replayed"]["calls"]] == ["artifact_add"]
    assert (await client.get(f"/api/runs/{run['id']}/artifacts")).json() == listed.json()
    assert (await client.get("/api/sessions/main/history", params={"includeTools": "true"})).json() == entries.json()
    assert server.agent.tokens[run["id"]] == "", "no token of the run goes along"
    assert server.agent.bodies[-1]["user"] != server.agent.bodies[0]["user"], "the session's history is another one"


@requirement("P.replay.rights")
async def test_only_an_owner_replays_and_only_to_a_model(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "hello")
    path = f"/api/runs/{run['id']}/replay"
    assert refused(await client.post(path, json={"gateway": "nowhere"}))[::2] == (400, "gateway")
    assert refused(await client.post(path, json={"step": 9}))[:2] == (404, "not_found")
    user = (await client.post("/api/users", json={"name": "ada", "slug": "ada"})).json()["user"]["id"]
    async with server.client(await server.token(client, kind="user", userId=user)) as ada:
        assert refused(await ada.post(path, json={}))[:2] == (403, "forbidden")
    assert len(server.agent.bodies) == 1


@requirement("P.replay")
async def test_a_replay_is_counted_as_use(client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "hello")
    before = (await client.get("/api/usage")).json()
    await client.post(f"/api/runs/{run['id']}/replay", json={})
    after = (await client.get("/api/usage")).json()
    assert (before["total"]["runs"], after["total"]["runs"]) == (1, 1)
    assert after["total"]["inputTokens"] == 2 * before["total"]["inputTokens"]

"""Replays: a run of its own sends a stored step once more, and nothing of it takes effect."""

import json
from typing import Any

import httpx
import pytest

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, run_of, send_and_wait

pytestmark = pytest.mark.anyio
ADD = "do " + json.dumps([["artifact_add", {"text": "milk", "artifactId": "list"}]])
HISTORY = "/api/sessions/main/history"


async def replayed(client: httpx.AsyncClient, run: Json, **wanted: Any) -> Json:
    """Replay a run, and return the run that does it once that has ended."""
    answer = await client.post(f"/api/runs/{run['id']}/replay", json=wanted)
    assert answer.status_code == 202, answer.text
    assert answer.json()["replayedFrom"] == run["id"]
    await client.get(f"/api/runs/{answer.json()['runId']}/wait", params={"timeoutSeconds": 15})
    return await run_of(client, answer.json()["runId"])


@requirement("P.replay")
async def test_a_step_is_sent_once_more_with_the_same_request(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "What is left to do?")
    again = await replayed(client, run, gateway="spare", model="other-model")
    before, after = server.agent.bodies
    assert {name for name in before if before[name] != after.get(name)} == {"model", "user", "metadata"}
    assert (after["model"], after["metadata"]["runId"]) == ("other-model", again["id"])
    assert again["reply"] == "echo: What is left to do?"
    assert again["sessionKey"] != run["sessionKey"]
    assert (await run_of(client, run["id"])) == run


@requirement("P.replay")
async def test_the_receipts_of_a_run_and_its_replay_show_the_same_request(client: httpx.AsyncClient) -> None:
    (await client.post("/api/notes", json={"content": "The milk is in the cellar."})).raise_for_status()
    run = await send_and_wait(client, "Where is the milk?")
    again = await replayed(client, run)
    path = f"/api/runs/{run['id']}/receipt/compare"
    compared = (await client.get(path, params={"with": again["id"]})).json()
    assert compared["same"], compared
    assert not compared["context"]["added"] + compared["context"]["removed"]
    shown = [(await client.get(f"/api/runs/{each['id']}/receipt")).json()["steps"] for each in (run, again)]
    assert [step["context"]["items"] for step in shown[0]] == [step["context"]["items"] for step in shown[1]]


@requirement("P.replay.effects")
async def test_the_calls_of_a_replay_are_shown_and_not_made(server: HttpServer, client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, f"Add the milk.\n{ADD}")
    listed = await client.get(f"/api/runs/{run['id']}/artifacts")
    entries = await client.get(HISTORY, params={"includeTools": "true"})
    again = await replayed(client, run, step=1)
    assert again["state"] == "completed"
    assert again["reply"].splitlines()[-2] == "Called, but not made in a replay:"
    assert again["reply"].splitlines()[-1].startswith("artifact_add({")
    assert not (await client.get(f"/api/runs/{again['id']}/artifacts")).json()["artifacts"]
    assert (await client.get(f"/api/runs/{run['id']}/artifacts")).json() == listed.json()
    assert (await client.get(HISTORY, params={"includeTools": "true"})).json() == entries.json()
    assert server.agent.tokens[again["id"]] == "", "no token of a run goes along"
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


@requirement("P.replay.rights")
async def test_a_replay_is_seen_by_whoever_asked_for_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    again = await replayed(client, await send_and_wait(client, "hello"))
    user = (await client.post("/api/users", json={"name": "ada", "slug": "ada"})).json()["user"]["id"]
    async with server.client(await server.token(client, kind="user", userId=user)) as ada:
        assert refused(await ada.get(f"/api/runs/{again['id']}"))[:2] == (404, "not_found")
        assert refused(await ada.get(f"/api/sessions/{again['sessionKey']}"))[:2] == (404, "not_found")
    shown = (await client.get(f"/api/sessions/{again['sessionKey']}")).json()["session"]
    assert shown["title"] == "Replay of hello"


@requirement("P.replay")
async def test_a_replay_is_counted_as_use(client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "hello")
    before = (await client.get("/api/usage")).json()["total"]
    await replayed(client, run)
    after = (await client.get("/api/usage")).json()["total"]
    assert (after["runs"], after["inputTokens"]) == (2 * before["runs"], 2 * before["inputTokens"])


@requirement("P.replay")
async def test_a_replay_is_sent_again_by_the_same_key_once(client: httpx.AsyncClient) -> None:
    run = await send_and_wait(client, "hello")
    path, headers = f"/api/runs/{run['id']}/replay", {"X-Idempotency-Key": "again"}
    first, second = [(await client.post(path, json={}, headers=headers)).json() for _ in range(2)]
    assert first == second

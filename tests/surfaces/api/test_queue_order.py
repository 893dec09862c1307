"""Moving a queued run up in the queue of its session."""

import httpx

from tests.harness.server import HttpServer
from tests.surfaces.api_calls import refused, settled, start


async def queue(client: httpx.AsyncClient) -> list[str]:
    runs = (await client.get("/api/sessions/main/queue")).json()["runs"]
    return [run["message"]["text"] for run in runs]


async def test_a_queued_run_moves_up_one_place_at_a_time(server: HttpServer, client: httpx.AsyncClient) -> None:
    held = (await start(client, "hold gate"))["runId"]
    await server.agent.reached("gate")
    first, second, third = [(await start(client, text))["runId"] for text in ("first", "second", "third")]
    moved = (await client.post(f"/api/runs/{third}/advance")).json()["run"]
    assert (moved["queuePosition"], await queue(client)) == (2, ["first", "third", "second"])
    await client.post(f"/api/runs/{third}/advance")
    assert await queue(client) == ["third", "first", "second"]
    assert refused(await client.post(f"/api/runs/{third}/advance"))[:2] == (409, "conflict")
    assert refused(await client.post(f"/api/runs/{held}/advance"))[:2] == (409, "conflict")
    server.agent.release("gate")
    ended = [await settled(client, run) for run in (third, first, second)]
    assert sorted(ended, key=lambda run: run["startedAt"]) == ended

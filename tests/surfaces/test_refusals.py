"""What the rules refused to a session is counted at every door, and only people learn what was hidden."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.kernel.limits import REFUSALS_PER_LANE_MAX
from carrel.records import count_refusal
from carrel.storage import Tx
from carrel.tools.refusals import HIDDEN
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import send_and_wait
from tests.surfaces.mcp import client as mcp

MAIN = "agent:main:main"


async def blocked(client: httpx.AsyncClient) -> list[tuple[str, str, int]]:
    """What was refused to the main session of agent `main`."""
    shown = (await client.get(f"/api/sessions/{MAIN}/access")).json()["blocked"]
    assert all(one["lastAt"].endswith("Z") for one in shown)
    return sorted((one["kind"], one["rule"], one["count"]) for one in shown)


@pytest.fixture
async def agent(server: HttpServer, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the token of agent `main`, which sees only the default space; the task `t1` is in another."""
    (await client.post("/api/spaces", json={"id": "space-secret", "name": "Secret"})).raise_for_status()
    (
        await client.post("/api/tasks", json={"id": "t1", "title": "Hidden", "spaceId": "space-secret"})
    ).raise_for_status()
    (await client.patch("/api/agents/main", json={"spaceIds": ["space-default"]})).raise_for_status()
    await send_and_wait(client, "hello")
    async with server.client(await server.token(client, kind="agent", agentId="main")) as opened:
        yield opened


async def test_hidden_things_that_were_asked_for_are_counted_at_every_door_and_missing_ones_are_not(
    client: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    for task_id in ("t1", "nothing"):
        wanted: Any = {"taskId": task_id}
        await send_and_wait(client, "do " + json.dumps([["task_load", wanted]]))
        assert (await agent.post("/agent/task_load", json=wanted)).status_code == 404
        assert (await mcp.call(agent, "task_load", wanted))["isError"]
        assert (await agent.get(f"/api/tasks/{task_id}/history")).status_code == 404
    assert await blocked(client) == [("task_history", HIDDEN, 1), ("task_load", HIDDEN, 3)]
    assert await blocked(agent) == [], "an agent would learn that it exists"


async def test_a_memory_of_another_session_counts_as_hidden(
    client: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    await send_and_wait(client, "hello", sessionKey="agent:main:web:another-chat")
    kept = await client.post(
        "/api/memory", json={"type": "fact", "content": "The door is blue.", "scope": "session:web:another-chat"}
    )
    assert kept.status_code == 201, kept.text
    read = {"id": kept.json()["item"]["id"]}
    assert (await agent.post("/agent/memory_read", json=read)).status_code == 404
    assert (await agent.post("/agent/memory_read", json={"id": "mem_nothing"})).status_code == 404
    assert await blocked(client) == [("memory_read", HIDDEN, 1)]


async def test_what_a_rule_refuses_openly_is_counted_with_its_words_and_mistakes_are_not(
    client: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    await client.patch("/api/agents/main", json={"tools": {"deny": ["agents_list"]}})
    assert (await agent.post("/agent/agents_list", json={})).status_code == 403
    assert (await agent.get("/api/agents")).status_code == 403
    assert (await agent.post("/agent/session_status", json={"surprise": 1})).status_code == 400
    assert await blocked(client) == await blocked(agent) == [("agents_list", "This agent may not use agents_list.", 2)]


async def test_the_kinds_of_refusals_that_a_session_keeps_are_limited(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    await send_and_wait(on_either, "hello")

    def fill(tx: Tx) -> None:
        for number in range(REFUSALS_PER_LANE_MAX + 5):
            count_refusal(tx, either_server.access, MAIN, "a_tool", f"rule {number}")
        count_refusal(tx, either_server.access, MAIN, "a_tool", "rule 0")

    await either_server.db.write(fill)
    found = await blocked(on_either)
    assert len(found) == REFUSALS_PER_LANE_MAX
    assert ("a_tool", "rule 0", 2) in found
    assert (await on_either.delete(f"/api/sessions/{MAIN}")).status_code == 204, "they go with their session"

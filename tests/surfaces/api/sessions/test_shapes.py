"""Sessions and their calls as lists and histories show them: what is waited for, and what was refused."""

import json

import httpx

from tests.surfaces.api_calls import send_and_wait, session_of


async def test_lists_of_sessions_say_what_a_person_is_waited_for(client: httpx.AsyncClient) -> None:
    chat = {"channelType": "web", "clientInstanceId": "b1"}
    key = (await client.post("/api/sessions", json=chat)).json()["sessionKey"]
    asking = await send_and_wait(client, "ask Which colour?", sessionKey=key)
    paths = ("/api/sessions", "/api/sessions/recent?channelType=web&clientInstanceId=b1")

    async def rows() -> list[tuple[str, str | None]]:
        lists = [(await client.get(path)).json()["sessions"] for path in paths]
        found = [next(row for row in each if row["key"] == key) for each in lists]
        return [(row["state"], row["waitingFor"]) for row in [*found, await session_of(client, key)]]

    assert await rows() == [("idle", "input")] * 3
    await client.post(f"/api/runs/{asking['id']}/answer", json={"text": "red"})
    await client.get(f"/api/runs/{asking['id']}/wait")
    assert await rows() == [("idle", None)] * 3


async def test_a_refused_call_is_told_from_one_that_was_made(client: httpx.AsyncClient) -> None:
    spawned = {"task": "x", "thread": True}
    wanted = [["session_status", {}], ["session_status", {"key": 1}], ["sessions_spawn", spawned]]
    await send_and_wait(client, f"do {json.dumps(wanted)}")
    whole = (await client.get("/api/sessions/main/history", params={"includeTools": 1})).json()["messages"]
    results = [message["content"][0] for message in whole if message["role"] == "toolResult"]
    assert [(one["name"], one["outcome"]) for one in results] == [
        ("session_status", "done"), ("session_status", "refused"), ("sessions_spawn", "failed"),
    ]  # fmt: skip


async def test_a_transcript_can_be_that_of_one_run(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, "first")
    run = await send_and_wait(client, 'do [["session_status", {}]]')
    await send_and_wait(client, "last")

    async def roles(**query: str | int) -> list[str]:
        path = f"/api/sessions/{run['sessionId']}/history"
        answer = (await client.get(path, params={"runId": run["id"], **query})).json()
        assert {message["runId"] for message in answer["messages"]} <= {run["id"]}
        return [message["role"] for message in answer["messages"]]

    assert await roles(includeTools=1) == ["user", "toolCall", "toolResult", "assistant"]
    assert await roles() == ["user", "toolCall", "assistant"]
    assert await roles(limit=1) == ["assistant"]
    assert await roles(runId="run_of_nobody") == []


async def test_the_sessions_that_a_session_spawned_can_be_listed(client: httpx.AsyncClient) -> None:
    await send_and_wait(client, 'do [["sessions_spawn", {"task": "look it up"}]]')
    await send_and_wait(client, "elsewhere", sessionKey="cron:daily")
    spawned = (await client.get("/api/sessions", params={"spawnedBy": "agent:main:main"})).json()["sessions"]
    assert [row["spawnedBy"] for row in spawned] == ["agent:main:main"]
    none = (await client.get("/api/sessions", params={"spawnedBy": "agent:main:cron:daily"})).json()["sessions"]
    assert none == []

"""Tools that write, over HTTP: once per idempotency key, and refused while the server is stopping."""

import asyncio
from typing import Any

import httpx

from tests.harness.engine import SECONDS_MAX
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait, start


@requirement("P.tool.once")
async def test_a_write_under_an_idempotency_key_is_done_once(either_server: HttpServer) -> None:
    server = either_server
    async with server.client() as owner:
        await send_and_wait(owner, "hello", sessionKey="agent:main:task:target")
        said = {"sessionKey": "agent:main:task:target", "message": "once", "timeoutSeconds": 0}
        key = {"X-Idempotency-Key": "send-1"}
        answers = await asyncio.gather(*(owner.post("/agent/sessions_send", json=said, headers=key) for _ in range(4)))
        assert {answer.status_code for answer in answers} == {200}, answers[0].text
        assert len({answer.json()["runId"] for answer in answers}) == 1
        assert sum("idempotent-replay" in answer.headers for answer in answers) == 3
        other = await owner.post("/agent/sessions_send", json={**said, "message": "other"}, headers=key)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_mismatch")


async def test_a_server_that_is_stopping_reads_and_writes_nothing_new(surface_url: str) -> None:
    async with open_http_server(surface_url) as server, server.client() as owner:
        await send_and_wait(owner, "hello", sessionKey="agent:main:task:target")
        server.drain.set()
        said = {"sessionKey": "agent:main:task:target", "message": "late"}
        refused = await owner.post("/agent/sessions_send", json=said)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
        assert (await owner.post("/agent/session_status", json={})).status_code == 200


async def test_an_answer_that_was_waited_for_is_the_one_that_is_kept(server: HttpServer) -> None:
    async with server.client() as owner:
        await send_and_wait(owner, "hello", sessionKey="agent:main:task:target")
        said = {"sessionKey": "agent:main:task:target", "message": "ping", "timeoutSeconds": 15}
        key = {"X-Idempotency-Key": "send-2"}
        first = await owner.post("/agent/sessions-send", json=said, headers=key)
        again = await owner.post("/agent/sessions_send", json=said, headers=key)
    assert (first.json()["status"], first.json()["reply"]) == ("ok", "echo: ping")
    assert again.json() == first.json()
    assert again.headers["idempotent-replay"] == "true"


async def test_a_key_belongs_to_the_lane_it_was_used_in(server: HttpServer) -> None:
    async with server.client() as owner:
        for lane in ("target", "one", "two"):
            await send_and_wait(owner, "hello", sessionKey=f"agent:main:task:{lane}")
        said = {"sessionKey": "agent:main:task:target", "message": "ping", "timeoutSeconds": 0}
        answers = [
            await owner.post(
                "/agent/sessions_send",
                json=said,
                headers={"X-Idempotency-Key": "send-3", "x-openclaw-session-key": f"agent:main:task:{lane}"},
            )
            for lane in ("one", "two", "one")
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[2].json() == answers[0].json()
    assert answers[1].json()["runId"] != answers[0].json()["runId"]
    assert ["idempotent-replay" in answer.headers for answer in answers] == [False, False, True]


async def test_another_server_that_is_asked_again_meanwhile_tells_of_the_run_and_makes_none(postgres_url: str) -> None:
    async with (
        open_http_server(postgres_url) as server,
        open_http_server(postgres_url, works=False) as beside,
        server.client() as owner,
        beside.client(server.owner) as again,
    ):
        target = "agent:main:task:target"
        await start(owner, "hold there", sessionKey=target)
        await server.agent.reached("there")
        said = {"sessionKey": target, "message": "ping", "timeoutSeconds": 15}
        key = {"X-Idempotency-Key": "send-4"}
        async with asyncio.TaskGroup() as group:
            first = group.create_task(owner.post("/agent/sessions_send", json=said, headers=key))
            told = await until_replayed(again, said, key)
            server.agent.release("there")
    assert told["status"] == "accepted"
    assert told["runId"] == first.result().json()["runId"]
    assert first.result().json()["status"] == "ok"


async def until_replayed(client: httpx.AsyncClient, said: dict[str, Any], key: dict[str, str]) -> dict[str, Any]:
    """What is told under a key, once the one who used it first has done what was asked."""
    target = said["sessionKey"]
    async with asyncio.timeout(SECONDS_MAX):
        queued: list[Any] = []
        while not queued:
            queued = (await client.get(f"/api/sessions/{target}/queue")).json()["runs"]
    answer = await client.post("/agent/sessions_send", json=said, headers=key)
    assert answer.headers["idempotent-replay"] == "true"
    told: dict[str, Any] = answer.json()
    return told

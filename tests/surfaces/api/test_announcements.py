"""The announcement of a sent message as the API shows it, and delivering an undelivered one again."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from carrel.surfaces.api.shapes import run_shape
from tests.harness.engine import until_found
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, run_of, send_and_wait, settled

WRITER = "agent:writer:main"


@pytest.fixture
async def owner(either_server: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of a server with one more agent."""
    async with either_server.client() as client:
        (await client.post("/api/agents", json={"id": "writer"})).raise_for_status()
        yield client


async def send(client: httpx.AsyncClient, message: str, wait_seconds: int = 0) -> Json:
    """Send a message to the writer from the desk of the main agent."""
    asked = {"sessionKey": WRITER, "message": message, "timeoutSeconds": wait_seconds}
    answer = await client.post("/agent/sessions_send", json=asked)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


async def announced(client: httpx.AsyncClient, run_id: str, *states: str) -> Json:
    """The run once its announcement has come to one of the states."""
    return await until_found(lambda: run_of(client, run_id), lambda run: run["announce"]["state"] in states)


@requirement("S2.announce.post")
async def test_a_run_tells_how_its_announcement_stands(either_server: HttpServer, owner: httpx.AsyncClient) -> None:
    plain = await send_and_wait(owner, "hello")
    sent = await send(owner, "hold a")
    pending = await run_of(owner, sent["runId"])
    either_server.agent.release("a")
    done = await announced(owner, sent["runId"], "delivered")
    assert plain["announce"] == {"state": "none", "attempts": 0}
    assert pending["announce"] == {"state": "pending", "attempts": 0}
    assert done["announce"] == {"state": "delivered", "attempts": 1}
    history = (await owner.get(f"/api/sessions/{WRITER}/history")).json()
    kinds = [message["provenance"]["kind"] for message in history["messages"] if message["role"] == "user"]
    assert kinds == ["inter_session", "announce"]


@requirement("S2.announce.post")
async def test_no_answer_shows_an_announcement_ahead_of_its_run(
    either_server: HttpServer, owner: httpx.AsyncClient
) -> None:
    sent = await send(owner, "hold d")
    await either_server.agent.reached("d")
    running = await either_server.run(sent["runId"])
    either_server.agent.release("d")
    await announced(owner, sent["runId"], "delivered")
    # On PostgreSQL the run may be read before its end and the announcement after it, in one answer.
    torn = await either_server.read(lambda tx: run_shape(tx, either_server.access, running))
    assert (torn.state, torn.reply, torn.announce.state, torn.announce.attempts) == ("running", None, "pending", 0)


@requirement("S2.x.result.kept")
async def test_an_undelivered_result_is_delivered_again_by_a_person(
    either_server: HttpServer, owner: httpx.AsyncClient
) -> None:
    sent = await send(owner, "hold b")
    await either_server.agent.reached("b")
    (await owner.patch(f"/api/sessions/{WRITER}", json={"sendPolicy": "deny"})).raise_for_status()
    either_server.agent.release("b")
    run = await announced(owner, sent["runId"], "undelivered")
    assert run["reply"] == "echo: hold b", "the result is with its run"
    (await owner.patch(f"/api/sessions/{WRITER}", json={"sendPolicy": None})).raise_for_status()
    again = await owner.post(f"/api/runs/{sent['runId']}/announce")
    assert (again.status_code, again.json()["run"]["announce"]["state"]) == (202, "pending")
    await announced(owner, sent["runId"], "delivered")
    assert refused(await owner.post(f"/api/runs/{sent['runId']}/announce"))[:2] == (409, "conflict")


@requirement("S2.x.result.kept")
async def test_only_what_is_undelivered_and_in_sight_can_be_delivered_again(
    either_server: HttpServer, owner: httpx.AsyncClient
) -> None:
    plain = await send_and_wait(owner, "hello")
    assert refused(await owner.post(f"/api/runs/{plain['id']}/announce"))[:2] == (409, "conflict")
    sent = await send(owner, "hello")
    async with either_server.client(either_server.other_owner) as stranger:
        assert refused(await stranger.post(f"/api/runs/{sent['runId']}/announce"))[:2] == (404, "not_found")
    async with either_server.client(await either_server.token(owner, kind="agent", agentId="writer")) as agent:
        assert (await agent.post(f"/api/runs/{sent['runId']}/announce")).status_code == 403


@requirement("S2.send.serverwait")
async def test_a_caller_that_hangs_up_ends_neither_wait_nor_run(
    either_server: HttpServer, owner: httpx.AsyncClient
) -> None:
    asking = asyncio.create_task(send(owner, "hold c", 30))
    await either_server.agent.reached("c")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    (run,) = (await owner.get("/api/runs", params={"sessionKey": WRITER})).json()["runs"]
    either_server.agent.release("c")
    answer = (await owner.get(f"/api/runs/{run['id']}/wait", params={"timeoutSeconds": 15})).json()
    assert (answer["status"], answer["reply"]) == ("ok", "echo: hold c")
    await announced(owner, run["id"], "delivered")


@requirement("S2.send.wait")
async def test_a_call_over_http_waits_for_the_reply(either_server: HttpServer, owner: httpx.AsyncClient) -> None:
    result = await send(owner, "hello", 15)
    assert (result["status"], result["reply"], result["sessionKey"]) == ("ok", "echo: hello", WRITER)
    assert (await settled(owner, result["runId"]))["state"] == "completed"

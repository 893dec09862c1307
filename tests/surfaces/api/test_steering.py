"""Sending a message into a running turn over the API: each door, and what is refused."""

from typing import Any

import httpx
import pytest

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import refused, settled, start

KEY = "agent:main:web:steer-0001"
DOORS: dict[str, tuple[str, dict[str, Any]]] = {
    "runs": ("/api/runs", {"sessionKey": KEY, "message": "In French.", "steer": True}),
    "send": (f"/api/sessions/{KEY}/send", {"message": "In French.", "steer": True}),
    "chat": ("/api/chat", {"sessionKey": KEY, "text": "In French.", "steer": True}),
    "steer": ("/api/runs/{run}/steer", {"message": "In French."}),
}


async def at_work(server: HttpServer, client: httpx.AsyncClient) -> str:
    """Start a run that is held in its first step."""
    run_id = str((await start(client, "hold gate", sessionKey=KEY))["runId"])
    await server.agent.reached("gate")
    return run_id


@requirement("P.steer.late")
@pytest.mark.parametrize("door", DOORS)
async def test_a_message_is_sent_into_a_running_turn_through_every_door(
    server: HttpServer, client: httpx.AsyncClient, door: str
) -> None:
    run_id = await at_work(server, client)
    path, body = DOORS[door]
    sent = await client.post(path.format(run=run_id), json=body)
    assert sent.status_code == 202, sent.text
    queued = (await client.get(f"/api/runs/{sent.json()['runId']}")).json()["run"]
    server.agent.release("gate")
    assert (queued["state"], queued["steers"], queued["message"]["text"]) == ("queued", run_id, "In French.")
    assert (await settled(client, sent.json()["runId"]))["reply"] == "echo: In French."


async def test_only_a_run_at_work_is_steered(server: HttpServer, client: httpx.AsyncClient) -> None:
    run_id = await at_work(server, client)
    waiting = (await start(client, "later", sessionKey=KEY))["runId"]
    not_begun = refused(await client.post(f"/api/runs/{waiting}/steer", json={"message": "And now?"}))
    server.agent.release("gate")
    await settled(client, waiting)
    ended = refused(await client.post(f"/api/runs/{run_id}/steer", json={"message": "And now?"}))
    assert (not_begun[:2], ended[:2]) == ((409, "conflict"), (409, "already_ended"))

"""Archiving a task over HTTP: whichever way it is done, its sessions close and what waits is cancelled."""

import httpx
import pytest

from tests.requirements.mark import requirement
from tests.surfaces.api_calls import run_of, send_and_wait


async def archived(client: httpx.AsyncClient, way: str, task_id: str) -> httpx.Response:
    """Archive a task one of the ways that the API has."""
    match way:
        case "status":
            return await client.post(f"/api/tasks/{task_id}/status", json={"status": "archived"})
        case "change":
            return await client.patch(f"/api/tasks/{task_id}", json={"status": "archived"})
        case _:
            return await client.delete(f"/api/tasks/{task_id}")


@requirement("S0.close.archived", "S0.close.queued")
@pytest.mark.parametrize("way", ["status", "change", "delete"])
async def test_whichever_way_a_task_is_archived_its_sessions_close(client: httpx.AsyncClient, way: str) -> None:
    task_id = (await client.post("/api/tasks", json={"title": "Paint"})).json()["task"]["id"]
    keys = [f"agent:main:task:{task_id}", "agent:main:main"]
    for key in keys:
        await send_and_wait(client, "hello", sessionKey=key)
    waiting = await send_and_wait(client, "ask which colour", sessionKey=keys[0])
    assert waiting["state"] == "waiting"
    answer = await archived(client, way, task_id)
    assert (answer.status_code, answer.json()["task"]["status"]) == (200, "archived")
    of_task, other = [(await client.get(f"/api/sessions/{key}")).json()["session"] for key in keys]
    assert (of_task["state"], of_task["closedReason"]) == ("closed", "task_archived")
    assert (other["state"], other["closedReason"]) == ("idle", None)
    assert ((ended := await run_of(client, waiting["id"]))["state"], ended["reason"]) == ("cancelled", "task_archived")

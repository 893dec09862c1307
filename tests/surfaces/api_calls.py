"""Shorthands for the API: start runs, wait for them, read what is stored."""

import re
from typing import Any

import httpx

from tests.harness.server import Client

Json = dict[str, Any]


async def start(client: httpx.AsyncClient, message: str, **where: Any) -> Json:
    """Start a run and return the answer; a task that it names is made first if there is none."""
    in_lane = re.search(r"\btask:(\w+)$", where.get("sessionKey", ""))
    task_id = where.get("taskId") or (in_lane and in_lane[1])
    if isinstance(client, Client) and task_id:
        await client.make_task(task_id)
    answer = await client.post("/api/runs", json={"message": message, **where})
    assert answer.status_code == 202, answer.text
    accepted: Json = answer.json()
    return accepted


async def settled(client: httpx.AsyncClient, run_id: str) -> Json:
    """Return the run once it has ended or waits for an answer."""
    (await client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 15})).raise_for_status()
    return await run_of(client, run_id)


async def run_of(client: httpx.AsyncClient, run_id: str) -> Json:
    """Return the run as it is stored now."""
    answer = await client.get(f"/api/runs/{run_id}")
    assert answer.status_code == 200, answer.text
    run: Json = answer.json()["run"]
    return run


async def send_and_wait(client: httpx.AsyncClient, message: str, **where: Any) -> Json:
    """Start a run and return it once it has ended or waits for an answer."""
    return await settled(client, (await start(client, message, **where))["runId"])


async def session_of(client: httpx.AsyncClient, reference: str) -> Json:
    """Return a session."""
    answer = await client.get(f"/api/sessions/{reference}")
    assert answer.status_code == 200, answer.text
    row: Json = answer.json()["session"]
    return row


def texts(history: Json) -> list[str]:
    """Return the texts of a transcript."""
    return [block.get("text", "") for message in history["messages"] for block in message["content"]]


def refused(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Return status, code and field of a refusal."""
    error = answer.json()["error"]
    return answer.status_code, error["code"], error.get("field")

"""A server that is killed between a message to a task and the work of the runs that tell agents of it."""

import json
from typing import Any

import httpx

from tests.harness.process import RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, text

Json = dict[str, Any]


def runs_of(client: httpx.Client, task_id: str) -> list[Json]:
    """The runs of a task once all have ended, oldest first."""
    while True:
        runs: list[Json] = client.get("/api/runs", params={"taskId": task_id}).json()["runs"]
        live = [run for run in runs if run["endedAt"] is None]
        if not live:
            return runs[::-1]
        waited = client.get(f"/api/runs/{live[-1]['id']}/wait", params={"timeoutSeconds": 20})
        assert waited.json()["status"] == "ok", waited.text


def begin(running: RunningServer, gate: Gate, gateway: ScriptedGateway) -> tuple[str, list[Json]]:
    """A task whose two agents are at work on their assignments, and two messages that wait behind them."""
    with running.client() as client:
        client.post("/api/agents", json={"id": "ben"}).raise_for_status()
        task: str = client.post("/api/tasks", json={"title": "Work", "assignedAgentIds": ["main", "ben"]}).json()[
            "task"
        ]["id"]
        gate.wait_reached()
        gateway.wait_for_requests(2)
        posted = [
            client.post(f"/api/tasks/{task}/messages", json={"content": content}).json()
            for content in ("the first word", "the second word")
        ]
    return task, posted


@requirement("S0.fanout.run", "S4.x.send.atomic")
def test_a_kill_after_a_message_loses_nothing_and_notifies_nobody_twice(start: Start, gateway: ScriptedGateway) -> None:
    gate = Gate()

    def rule(request: Request) -> Answer:
        return text("Done.", before=gate)

    gateway.rule = rule
    running = start(**reaching(gateway))
    task, posted = begin(running, gate, gateway)
    assert posted[0]["notified"] == posted[1]["notified"]
    running.kill()
    gate.open()
    running = start(**reaching(gateway))
    with running.client() as client:
        runs = runs_of(client, task)
        told = sorted((run["agentId"], run["provenance"]["type"]) for run in runs)
        assert told == [
            ("ben", "assignment"), ("ben", "thread_update"), ("main", "assignment"), ("main", "thread_update"),
        ]  # fmt: skip
        ids = [each["message"]["id"] for each in posted]
        updates = [run for run in runs if run["provenance"]["type"] == "thread_update"]
        assert [run["joinedMessageIds"] for run in updates] == [ids, ids]
        assert {run["state"] for run in runs} == {"completed"}
        messages = client.get(f"/api/tasks/{task}/thread").json()["messages"]
        assert [each["id"] for each in messages if each["role"] == "user"] == ids
        assert sorted(each["runId"] for each in messages if each["role"] == "assistant") == sorted(
            run["id"] for run in runs
        )
    heard = [request for request in gateway.requests if "the second word" in newest_of(request)]
    assert len(heard) == 2, "each agent heard it once"


def newest_of(request: Request) -> str:
    """The newest item of what a model was sent."""
    return json.dumps(request.json["input"][-1])

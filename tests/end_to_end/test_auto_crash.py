"""A server that is killed while its auto runs work, and what the next one does with them."""

import json
from typing import Any

import httpx
import pytest

from tests.harness.process import RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, text

Json = dict[str, Any]
RESUMES = {"CARREL_AUTO__RESUME_ON_RESTART": "true"}


def begin(running: RunningServer, gate: Gate) -> str:
    """Start an auto run whose tick is at work; return its id."""
    auto = running.carrel("auto", "start", "Write the report", "--every", "1").out.strip()
    gate.wait_reached()
    return auto


def run_of(client: httpx.Client, auto: str) -> Json:
    """The auto run as it is."""
    found: Json = client.get(f"/api/auto/runs/{auto}").json()["run"]
    return found


@requirement("S3.auto.norestart")
def test_a_kill_interrupts_the_auto_run_visibly_and_its_tick_is_not_taken_up_again(
    start: Start, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.rule = lambda _request: text("Never heard.", before=gate)
    running = start(**reaching(gateway))
    auto = begin(running, gate)
    running.kill()
    gate.open()
    running = start(**reaching(gateway))
    with running.client() as client:
        # A message to the same lane is answered behind the tick, if that were taken up again.
        sent = client.post("/api/runs", json={"message": "hello"}).json()["runId"]
        assert client.get(f"/api/runs/{sent}/wait", params={"timeoutSeconds": 20}).json()["status"] == "ok"
        found = run_of(client, auto)
        assert (found["status"], found["reason"]) == ("interrupted", "server_restarted")
        (tick,) = client.get("/api/runs", params={"autoRunId": auto}).json()["runs"]
        assert tick["state"] == "cancelled"
        history = json.dumps(client.get("/api/sessions/main/history").json())
        assert f"auto run {auto} on task {found['taskId']} was interrupted" in history
    assert len(gateway.requests) == 2, "the tick was sent once, before the kill; then the message"
    listed = running.carrel("auto", "--all")
    assert [word in listed.out for word in (auto, "interrupted", "TASK_RUN")] == [True] * 3
    assert running.carrel("auto").out == "", "only those that have not ended are listed"


@pytest.mark.parametrize("stop", ["run", "session"])
def test_the_command_line_starts_shows_and_stops(start: Start, gateway: ScriptedGateway, stop: str) -> None:
    gate = Gate()
    gateway.rule = lambda _request: text("Working.", before=gate)
    running = start(**reaching(gateway))
    auto = begin(running, gate)
    shown = json.loads(running.carrel("auto", "show", auto, "--json").out)["run"]
    assert (shown["runKind"], shown["status"], shown["tickCount"]) == ("TASK_RUN", "active", 1)
    assert running.carrel("auto", "stop", auto if stop == "run" else "main").out.strip() == auto
    assert running.carrel("auto", "stop").out.strip() in (auto, "Nothing to stop.")
    gate.open()


@requirement("S3.auto.norestart")
def test_a_killed_auto_run_goes_on_where_the_settings_say_so(start: Start, gateway: ScriptedGateway) -> None:
    gate, again, heard = Gate(), Gate(), list[Request]()

    def rule(request: Request) -> Answer:
        heard.append(request)
        return text(f"Said {len(heard)}.", before=gate if len(heard) == 1 else again if len(heard) == 3 else None)

    gateway.rule = rule
    running = start(**reaching(gateway), **RESUMES)
    auto = begin(running, gate)
    running.kill()
    gate.open()
    running = start(**reaching(gateway), **RESUMES)
    again.wait_reached()
    with running.client() as client:
        found = run_of(client, auto)
        assert (found["status"], found["tickCount"]) == ("active", 2)
        client.post("/api/auto/stop", json={"runId": auto}).raise_for_status()
    again.open()

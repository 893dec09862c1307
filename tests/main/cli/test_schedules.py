"""What `carrel schedule` requests from the server and prints."""

import json
import re
from typing import Any

import pytest

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel, run_of


def schedule_of(**changes: Any) -> dict[str, Any]:
    """A schedule as the API shows it, with some fields changed."""
    schedule: dict[str, Any] = {
        "id": "sch_1",
        "cron": "0 9 * * 1-5",
        "timezone": "UTC",
        "message": "report\nall of it",
        "enabled": True,
        "disabledReason": None,
        "maxExecutions": -1,
        "executionCount": 4,
        "nextAt": "2026-06-01T09:00:00.000Z",
        "retryAt": None,
        "lastStatus": "completed",
    }
    return schedule | changes


def test_list_shows_when_each_comes_and_how_it_went(at: Carrel, tiny: TinyServer) -> None:
    ended = schedule_of(
        id="sch_2", enabled=False, disabledReason="exhausted", nextAt=None, maxExecutions=4, timezone="Europe/Berlin"
    )
    tiny.answers("GET", "/api/schedules", {"schedules": [schedule_of(), ended], "nextCursor": None})
    listed = re.sub(r"\d+d ago|in \d+d", "then", at("schedule", "list", "agent:main:main").out)
    assert listed.splitlines() == [
        "sch_1\tenabled\t0 9 * * 1-5\tthen\tcompleted\t4\treport all of it",
        "sch_2\texhausted\t0 9 * * 1-5 Europe/Berlin\t\tcompleted\t4/4\treport all of it",
    ]
    assert tiny.asked[0].query["sessionId"] == "agent:main:main"


def test_create_sends_what_was_said_and_prints_the_id(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/schedules", {"schedule": schedule_of()}, status=201)
    more = ("--timezone", "Europe/Berlin", "--isolated", "--times", "3", "--disabled")
    assert at("schedule", "create", "main", "0 9 * * 1-5", "report", *more).out == "sch_1\n"
    assert tiny.asked[0].body == {
        "type": "message",
        "sessionId": "main",
        "cron": "0 9 * * 1-5",
        "message": "report",
        "timezone": "Europe/Berlin",
        "isolated": True,
        "enabled": False,
        "maxExecutions": 3,
    }


@pytest.mark.parametrize(("word", "enabled"), [("enable", True), ("disable", False)])
def test_a_schedule_is_switched(at: Carrel, tiny: TinyServer, word: str, enabled: bool) -> None:
    tiny.answers("PATCH", "/api/schedules/sch_1", {"schedule": schedule_of(enabled=enabled)})
    assert json.loads(at("schedule", word, "sch_1", "--json").out)["schedule"]["enabled"] is enabled
    assert tiny.asked[0].body == {"enabled": enabled}


def test_run_prints_the_run_or_waits_for_its_answer(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/schedules/sch_1/run", {"schedule": schedule_of(), "runId": "run_1"}, status=202)
    assert at("schedule", "run", "sch_1").out == "run_1\n"
    tiny.answers("GET", "/api/runs/run_1/wait", {"runId": "run_1", "status": "ok"})
    tiny.answers("GET", "/api/runs/run_1", {"run": run_of()})
    assert at("schedule", "run", "sch_1", "--wait").out == "Good morning.\n"


def test_delete_says_so(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("DELETE", "/api/schedules/sch_1", None, status=204)
    assert at("schedule", "delete", "sch_1").out == "Deleted.\n"
    assert json.loads(at("schedule", "delete", "sch_1", "--json").out) == {"deleted": "sch_1"}


@pytest.mark.parametrize("kind", ["task", "goal"])
def test_a_goal_or_task_is_scheduled_by_its_id(at: Carrel, tiny: TinyServer, kind: str) -> None:
    made = schedule_of(type=kind, targetId="it_1", message=None)
    tiny.answers("POST", "/api/schedules", {"schedule": made}, status=201)
    assert at("schedule", "create", "main", "0 9 * * *", f"--{kind}", "it_1").out == "sch_1\n"
    body = tiny.asked[0].body
    assert (body["type"], body["targetId"], "message" in body) == (kind, "it_1", False)
    tiny.answers("GET", "/api/schedules", {"schedules": [made], "nextCursor": None})
    assert at("schedule").out.endswith(f"\t{kind} it_1\n")

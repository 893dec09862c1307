"""What `carrel goals` requests from the server and prints."""

import json
from typing import Any

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel


def goal_of(**changes: Any) -> dict[str, Any]:
    """A goal as the API shows it, with some fields changed."""
    task = {"id": "task_1", "title": "Paint", "status": "done"}
    goal = {"id": "goal_1", "sessionId": "main", "name": "Open\nthe garden", "description": "", "status": "working"}
    plans = [{"id": "plan_1", "title": "The plan", "status": "working"}]
    times = {"createdAt": "2999-01-01T00:00:00Z", "updatedAt": "2999-01-01T00:00:00Z"}
    return goal | {"plans": plans, "tasks": [task, task | {"status": "inbox"}]} | times | changes


def test_goals_alone_lists_those_of_the_main_session(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/goals", {"goals": [goal_of()], "nextCursor": None})
    assert at("goals").out == "goal_1\tworking\t1/2\t0s\tOpen the garden\n"
    assert tiny.asked[0].query == {"sessionId": "main", "limit": "50"}
    assert json.loads(at("goals", "list", "--session", "web", "--json").out)["goals"][0]["id"] == "goal_1"


def test_create_prints_the_id(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/goals", {"goal": goal_of()}, status=201)
    assert at("goals", "create", "Open the garden", "--description", "soon").out == "goal_1\n"
    assert tiny.asked[0].body == {"sessionId": "main", "name": "Open the garden", "description": "soon"}


def test_show_lists_plans_and_tasks(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/goals/goal_1", {"goal": goal_of()})
    shown = at("goals", "show", "goal_1").out
    assert "plan_1  working  The plan" in shown
    assert "task_1  inbox  Paint" in shown
    assert json.loads(at("goals", "show", "goal_1", "--json").out)["goal"]["id"] == "goal_1"


def test_done_cancel_and_delete_say_what_became_of_it(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/goals/goal_1/complete", {"goal": goal_of(status="completed")})
    tiny.answers("PATCH", "/api/goals/goal_1", {"goal": goal_of(status="cancelled")})
    tiny.answers("DELETE", "/api/goals/goal_1", None, status=204)
    assert at("goals", "done", "goal_1").out == "completed\n"
    assert at("goals", "cancel", "goal_1").out == "cancelled\n"
    assert tiny.asked[1].body == {"status": "cancelled"}
    assert at("goals", "delete", "goal_1").out == "Deleted.\n"
    assert json.loads(at("goals", "delete", "goal_1", "--json").out) == {"deleted": "goal_1"}

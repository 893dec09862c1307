"""What `carrel plan` requests from the server and prints."""

import json
from typing import Any

import pytest

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel


def plan_of(plan_id: str = "plan_1", **changes: Any) -> dict[str, Any]:
    """A plan as the API shows it, with some fields changed."""
    tasks = [{"id": "task_1", "status": "done", "title": "Dig"}, {"id": "task_2", "status": "inbox", "title": "Plant"}]
    plan = {"id": plan_id, "title": "A garden", "markdown": "# A garden", "status": "ready", "goalId": None}
    return plan | {"tasks": tasks, "updatedAt": "2999-01-01T00:00:00Z"} | changes


def state_of(*plans: dict[str, Any], active: str | None = "plan_1", enabled: bool = True) -> dict[str, Any]:
    """The state of a session as the API shows it."""
    return {"sessionKey": "agent:main:main", "enabled": enabled, "activePlanId": active, "plans": list(plans)}


def test_plan_alone_shows_the_state_and_the_plans(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/plans", state_of(plan_of(), plan_of("plan_0", status="cancelled", tasks=[])))
    assert at("plan").out.splitlines() == [
        "Plan mode of agent:main:main: on",
        "plan_1\t*\tready\t1/2\t0s\tA garden",
        "plan_0\t\tcancelled\t0/0\t0s\tA garden",
    ]
    assert tiny.asked[0].query == {"sessionId": "main"}


def test_the_state_is_printed_as_json(at: Carrel, tiny: TinyServer) -> None:
    state = state_of(active=None, enabled=False)
    tiny.answers("GET", "/api/plans", state)
    assert json.loads(at("plan", "--session", "web", "--json").out) == state
    assert tiny.asked[0].query == {"sessionId": "web"}


@pytest.mark.parametrize(("word", "path"), [("on", "enable"), ("off", "disable")])
def test_plan_mode_is_switched_in_one_session(at: Carrel, tiny: TinyServer, word: str, path: str) -> None:
    tiny.answers("POST", f"/api/plans/{path}", state_of(active=None, enabled=word == "on"))
    assert at("plan", word, "--session", "web").out.startswith(f"Plan mode of agent:main:main: {word}\n")
    assert tiny.asked[0].body == {"sessionId": "web"}


def test_show_prints_the_active_plan(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/plans", state_of(plan_of()))
    tiny.answers("GET", "/api/plans/plan_1", {"plan": plan_of()})
    shown = at("plan", "show").out
    assert "task_1  done  Dig" in shown
    assert shown.endswith("\n# A garden\n")
    assert tiny.asked[1].query == {"sessionId": "main"}


def test_show_says_so_when_there_is_no_active_plan(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/plans", state_of(active=None))
    done = at("plan", "show")
    assert done.code == 1
    assert "no active plan" in done.err


@pytest.mark.parametrize(("word", "status"), [("approve", "ready"), ("cancel", "working"), ("resume", "failed")])
def test_the_plan_that_fits_is_changed_where_none_is_named(
    at: Carrel, tiny: TinyServer, word: str, status: str
) -> None:
    plans = (plan_of("plan_3", status="skipped"), plan_of("plan_2", status=status), plan_of("plan_1", status=status))
    tiny.answers("GET", "/api/plans", state_of(*plans, active="plan_3"))
    tiny.answers("POST", f"/api/plans/plan_2/{word}", {"plan": plan_of("plan_2")})
    assert json.loads(at("plan", word, "--json").out)["plan"]["id"] == "plan_2"
    assert tiny.asked[1].body == {"sessionId": "main"}
    tiny.answers("GET", "/api/plans", state_of(*plans, active="plan_1"))
    tiny.answers("POST", f"/api/plans/plan_1/{word}", {"plan": plan_of()})
    assert json.loads(at("plan", word, "--json").out)["plan"]["id"] == "plan_1", "the active one comes first"


def test_a_plan_that_is_named_is_asked_for_at_once(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/plans/plan_9/approve", {"plan": plan_of("plan_9")})
    at("plan", "approve", "plan_9", "--session", "web")
    assert [one.body for one in tiny.asked] == [{"sessionId": "web"}]


def test_where_no_plan_fits_nothing_is_sent(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/plans", state_of(plan_of(status="working")))
    done = at("plan", "resume")
    assert (done.code, len(tiny.asked)) == (1, 1)
    assert "no plan that is failed or blocked" in done.err

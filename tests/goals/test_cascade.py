"""What runs mean for tasks, tasks for plans and plans for goals, as pure functions."""

from typing import Any

import pytest

from carrel.goals import Goal, Plan
from carrel.goals.transitions import ended_tasks, goal_status, plan_status
from carrel.runs import Run
from carrel.work import Progress, Task
from tests.requirements.mark import requirement

_PLAN = Plan(
    id="plan_1", key="agent:main:main", agent_id="main", made_by="tok", title="", markdown="", status="working",
    held=False, dependencies=(), metadata={}, created_at=0, updated_at=0,
)  # fmt: skip
_GOAL = Goal(
    id="goal_1", key="agent:main:main", agent_id="main", made_by="tok", name="g", description="", status="working",
    metadata={}, created_at=0, updated_at=0,
)  # fmt: skip


def task(status: Any, *, failed: bool = False, status_at: int = 10) -> Task:
    return Task(
        id="task_1", seq=1, space_id="s", title="t", description="", status=status, priority=3, tags=(),
        metadata={"failed": True} if failed else {}, created_by="user", created_at=0, updated_at=0, status_at=status_at,
    )  # fmt: skip


def run(state: str, *, created_at: int = 10, ended_at: int | None = 20) -> Run:
    return Run(
        account_id="acc", id="run_1", key="agent:main:main", agent_id="main", seq=1, state=state, attempts_max=1,
        timeout_ms=0, provenance="{}", provenance_kind="notification", created_at=created_at, updated_at=0, attempt=1,
        claim_no=1, deadline_at=None, generation=1, started_at=1, task_id="task_1", auto_run_id=None,
        patience_ms=0, unreachable_since=None, actor_id="tok", message_id="m", text="",
        channel="internal", ended_at=ended_at, error_message="no disk",
    )  # fmt: skip


def step(
    status: Any, of_run: Run | None = None, *, ready: bool = False, says_done: bool = False, **more: Any
) -> Progress:
    return Progress(task=task(status, **more), is_ready=ready, run=of_run, says_done=says_done)


@requirement("S1.opt.run")
@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        # A turn that ends says nothing about its task, unless its agent has no other way to.
        (step("in_progress", run("completed")), []),
        (step("review", run("completed")), []),
        (step("in_progress", run("completed"), says_done=True), [("done", None)]),
        (step("in_progress", run("failed")), [("blocked", "Its run failed: no disk")]),
        (step("in_progress", run("cancelled")), [("blocked", "Its run was cancelled.")]),
        (step("in_progress", run("running", ended_at=None)), []),
        (step("in_progress", run("waiting", ended_at=None)), []),
        (step("in_progress"), []),
        (step("done", run("completed")), []),
        (step("archived", run("completed")), []),
        # Somebody has moved it since the run ended.
        (step("review", run("completed"), status_at=21, says_done=True), []),
        # It was said in the course of the run that it is blocked; only a run that began since settles that.
        (step("blocked", run("completed"), status_at=15, says_done=True), []),
        (step("blocked", run("completed", created_at=16), status_at=15, says_done=True), [("done", None)]),
        (step("blocked", run("completed", created_at=16), status_at=15), []),
        (step("blocked", run("failed"), failed=True, status_at=20), []),
        (step("blocked", run("completed", ended_at=30), failed=True, status_at=20), [("in_progress", None)]),
    ],
)
def test_the_end_of_a_run_moves_its_task_only_where_it_says_something_and_nobody_has_moved_it_since(
    given: Progress, outcome: list[tuple[str, str | None]]
) -> None:
    assert [(one.to, one.failure) for one in ended_tasks([given])] == outcome
    assert ended_tasks([given], is_begun=False) == []


WAITING = run("waiting", ended_at=None)


@requirement("S1.opt.cascade")
@pytest.mark.parametrize(
    ("before", "steps", "after"),
    [
        ("working", [], "working"),
        ("working", [step("done"), step("in_progress")], "working"),
        ("working", [step("done"), step("inbox", ready=True)], "working"),
        ("working", [step("done"), step("done")], "completed"),
        ("working", [step("done"), step("archived")], "completed"),
        ("working", [step("archived")], "working"),
        ("working", [step("in_progress"), step("in_progress", WAITING)], "blocked"),
        ("working", [step("in_progress"), step("blocked")], "blocked"),
        ("working", [step("archived"), step("inbox")], "blocked"),
        ("working", [step("in_progress"), step("blocked", failed=True)], "failed"),
        ("blocked", [step("in_progress")], "working"),
        ("failed", [step("in_progress")], "working"),
        ("ready", [step("in_progress"), step("inbox", ready=True)], "ready"),
        ("ready", [step("blocked"), step("inbox", ready=True)], "blocked"),
        ("drafting", [step("done")], "completed"),
        ("completed", [step("blocked", failed=True)], "completed"),
        ("skipped", [step("done")], "skipped"),
        ("cancelled", [step("done")], "cancelled"),
    ],
)
def test_its_tasks_give_a_plan_its_status(before: Any, steps: list[Progress], after: str) -> None:
    plan = Plan(**{name: getattr(_PLAN, name) for name in Plan.__struct_fields__} | {"status": before})
    assert plan_status(plan, steps) == after


def test_a_plan_that_is_held_or_waits_for_others_stays_as_it_is() -> None:
    fields = {name: getattr(_PLAN, name) for name in Plan.__struct_fields__}
    held = Plan(**fields | {"status": "blocked", "held": True})
    assert plan_status(held, [step("inbox", ready=True)]) == "blocked"
    assert plan_status(held, [step("done")]) == "completed"
    assert plan_status(Plan(**fields), [step("inbox")], waits_for_plans=True) == "working"


@requirement("S1.opt.cascade")
@pytest.mark.parametrize(
    ("plans", "after"),
    [
        ([], "working"),
        (["completed", "skipped"], "completed"),
        (["completed", "cancelled"], "completed"),
        (["skipped"], "working"),
        (["completed", "failed"], "failed"),
        (["failed", "ready"], "working"),
        (["blocked", "blocked"], "blocked"),
        (["blocked", "completed"], "blocked"),
        (["blocked", "working"], "working"),
        (["blocked", "ready"], "working"),
    ],
)
def test_its_plans_give_a_goal_its_status(plans: list[Any], after: str) -> None:
    assert goal_status(_GOAL, plans) == after

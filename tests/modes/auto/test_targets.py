"""Auto runs of goals: the task they begin with, how they go on, and when they end."""

from typing import Any

import pytest

from carrel.goals import Goal, GoalChange, PlannedTask, add_goal_task, change_goal, delete_goal, make_goal
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.modes import AutoRun
from carrel.runs import Completed
from carrel.work import Task, move_task, readable_task
from tests.goals.planner import CHAT as PLANS
from tests.goals.planner import open_planner
from tests.harness.engine import MAIN
from tests.modes.auto.timeline import CHAT, AutoTimeline
from tests.requirements.mark import requirement


async def goal_of(line: AutoTimeline, *titles: str, key: SessionKey = MAIN) -> tuple[Goal, list[Task]]:
    """Make a goal with tasks."""

    def work(tx: Any) -> tuple[Goal, list[Task]]:
        goal = make_goal(tx, line.engine.access, key, name="Ship it", description="By Friday.")
        return goal, [add_goal_task(tx, line.engine.access, goal, PlannedTask(title=title)) for title in titles]

    return await line.engine.db.write(work)


async def move(line: AutoTimeline, task_id: str, to: str, **more: Any) -> None:
    """Move a task as a person would."""
    engine = line.engine
    await engine.db.write(lambda tx: move_task(tx, engine.access, task_id, to, engine.rules, walk=True, **more))


async def tick(line: AutoTimeline, auto: AutoRun, *, finishes: str | None = None) -> str | None:
    """Take one tick, in which the task of that id is finished; return the task that the tick is about."""
    await line.settle()
    held = await line.begin()
    assert held.auto_run_id == auto.id
    if finishes is not None:
        await move(line, finishes, "done")
    await line.engine.end(held, Completed(reply=f"{held.id} {held.task_id}"))
    await line.later(60)
    return held.task_id


@requirement("S3.auto.on.goal", "S3.auto.kinds", "S3.auto.end")
async def test_a_goal_run_goes_through_the_open_tasks_of_its_goal_and_is_completed_then(line: AutoTimeline) -> None:
    goal, (one, two) = await goal_of(line, "one", "two")
    auto = await line.start(goal_id=goal.id)
    assert (auto.run_kind, auto.task_id, auto.goal_id) == ("GOAL_RUN", one.id, goal.id)
    assert await tick(line, auto) == one.id
    assert await tick(line, auto, finishes=one.id) == one.id
    assert await tick(line, auto, finishes=two.id) == two.id
    ended = await line.now(auto)
    assert (ended.status, ended.reason, ended.tick_count) == ("completed", "goal_done", 3)
    task, _ = await line.engine.read(lambda tx: readable_task(tx, line.engine.access, two.id))
    assert task.status == "done"


@requirement("S3.auto.on.goal")
async def test_a_goal_without_tasks_gets_a_task_to_plan_them(line: AutoTimeline) -> None:
    goal, _ = await goal_of(line)
    auto = await line.start(goal_id=goal.id)
    task, _ = await line.engine.read(lambda tx: readable_task(tx, line.engine.access, auto.task_id))
    assert task.id != goal.id
    assert (task.goal_id, task.title) == (goal.id, "Plan the goal: Ship it")
    assert "By Friday." in task.description


async def test_two_goal_runs_of_one_goal_take_different_tasks_and_the_second_waits_where_one_is_left(
    line: AutoTimeline,
) -> None:
    goal, (one, two) = await goal_of(line, "one", "two")
    first, second = await line.start(goal_id=goal.id), await line.start(goal_id=goal.id)
    assert (first.task_id, second.task_id) == (one.id, two.id)
    third = await line.start(goal_id=goal.id)
    assert await tick(line, first) == one.id
    assert await tick(line, second, finishes=two.id) == two.id
    assert await tick(line, first) == one.id
    assert await tick(line, first, finishes=one.id) == one.id
    await line.later(600)
    assert [(await line.now(auto)).tick_count for auto in (first, second, third)] == [3, 1, 0]
    assert [(await line.now(auto)).status for auto in (first, second, third)] == ["completed"] * 3


async def test_a_goal_run_leaves_a_blocked_task_for_the_next_and_waits_while_all_are_blocked(
    line: AutoTimeline,
) -> None:
    goal, (one, two) = await goal_of(line, "one", "two")
    auto = await line.start(goal_id=goal.id)
    await move(line, one.id, "blocked", reason="who knows")
    assert await tick(line, auto, finishes=two.id) == two.id
    await line.later(600)
    assert ((await line.now(auto)).status, len(await line.ticks())) == ("active", 1)
    await move(line, one.id, "in_progress")
    await line.later(60)
    assert await tick(line, auto, finishes=one.id) == one.id
    assert (await line.now(auto)).status == "completed"


@pytest.mark.parametrize("end", ["cancelled", "deleted"])
async def test_a_goal_that_is_cancelled_or_deleted_stops_its_auto_run(line: AutoTimeline, end: str) -> None:
    goal, _ = await goal_of(line, "one")
    auto, engine = await line.start(goal_id=goal.id), line.engine
    await tick(line, auto)
    if end == "deleted":
        await engine.db.write(lambda tx: delete_goal(tx, engine.access, goal.id, engine.rules))
    else:
        change = GoalChange(status="cancelled")
        await engine.db.write(lambda tx: change_goal(tx, engine.access, goal.id, change, engine.rules))
    await line.work(Completed(reply="last"))
    ended = await line.now(auto)
    assert (ended.status, ended.reason, ended.run_kind) == ("stopped", "goal_ended", "GOAL_RUN")


async def test_goals_of_other_sessions_and_tasks_of_other_goals_are_refused(line: AutoTimeline) -> None:
    goal, (task,) = await goal_of(line, "one")
    other, _ = await goal_of(line, "two")
    assert await _refused(line, CHAT, goal_id=goal.id) == Code.NOT_FOUND
    assert await _refused(line, MAIN, goal_id=other.id, task_id=task.id) == Code.INVALID_PARAMS
    assert await _refused(line, MAIN, goal_id=goal.id, text="and this") == Code.INVALID_PARAMS
    elsewhere = await line.engine.another_account("elsewhere")
    assert await _refused(line, MAIN, access=elsewhere, goal_id=goal.id) == Code.NOT_FOUND


async def _refused(line: AutoTimeline, key: SessionKey, access: Access | None = None, **more: Any) -> Code:
    with pytest.raises(Refusal) as refusal:
        await line.start(key, access=access, **more)
    return refusal.value.code


async def test_the_end_of_a_tick_is_not_the_end_of_its_task_in_a_plan(store_url: str) -> None:
    async with open_planner(store_url) as planner:
        line = AutoTimeline(planner)
        plan = await planner.plan("one")
        await planner.approve(plan)
        task = (await planner.tasks(plan))["one"]
        (held,) = (await planner.claimed()).values()
        await line.start(PLANS, task_id=task.id)
        await line.settle()
        planner.advance(1)
        await line.work(Completed(reply="a step"))
        await planner.follow()
        assert await planner.statuses(plan) == {"one": "in_progress"}, "the run that the plan began still works on it"
        await planner.finish(held)
        assert await planner.statuses(plan) == {"one": "done"}

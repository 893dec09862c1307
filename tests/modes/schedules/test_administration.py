"""Schedules of goals and tasks: a window has the target worked on in the schedule's session."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from carrel.goals import Goal, PlannedTask, add_goal_task, delete_goal, make_goal
from carrel.modes import NewSchedule, Schedule, make_schedule, schedule_duty
from carrel.runs import Failed
from carrel.work import Task, move_task, readable_task
from tests.harness.engine import MAIN, FakeClock, open_engine
from tests.modes.schedules.test_duty import NOON, Timeline
from tests.requirements.mark import requirement

FAILED = Failed(code="broken", message="It broke.")


@pytest.fixture
async def timeline(store_url: str) -> AsyncIterator[Timeline]:
    async with open_engine(store_url, clock=FakeClock(NOON)) as engine:
        yield Timeline(engine)


async def schedule(timeline: Timeline, kind: Any, target_id: str, **more: Any) -> Schedule:
    """Schedule a goal or task at every full hour."""
    new = NewSchedule(type=kind, target_id=target_id, cron="0 * * * *", **more)
    return await timeline.engine.db.write(lambda tx: make_schedule(tx, timeline.engine.access, "main", new))


async def goal_with(timeline: Timeline, *titles: str) -> tuple[Goal, list[Task]]:
    """Make a goal with tasks."""

    def work(tx: Any) -> tuple[Goal, list[Task]]:
        goal = make_goal(tx, timeline.engine.access, MAIN, name="Ship it")
        return goal, [add_goal_task(tx, timeline.engine.access, goal, PlannedTask(title=title)) for title in titles]

    return await timeline.engine.db.write(work)


async def move(timeline: Timeline, task_id: str, to: str) -> None:
    """Move a task."""
    engine = timeline.engine
    await engine.db.write(lambda tx: move_task(tx, engine.access, task_id, to, engine.rules, walk=True))


async def test_a_window_of_a_task_delivers_a_message_about_it_into_the_session(timeline: Timeline) -> None:
    await timeline.engine.make_task("weekly")
    made = await schedule(timeline, "task", "weekly")
    await timeline.at("13:00:00")
    (run,) = await timeline.runs()
    assert (run.key, run.task_id, run.auto_run_id, run.source().actor) == (str(MAIN), "weekly", None, made.id)
    assert "weekly" in run.text
    shown = await timeline.now(made)
    assert (shown["type"], shown["targetId"], shown["lastRunId"]) == ("task", "weekly", run.id)
    await timeline.work()
    await timeline.at("14:00:00")
    assert len(await timeline.runs()) == 2


async def test_a_window_of_a_goal_is_about_its_next_open_task(timeline: Timeline) -> None:
    goal, (one, two) = await goal_with(timeline, "one", "two")
    await schedule(timeline, "goal", goal.id)
    await timeline.at("13:00:00")
    await timeline.work()
    await move(timeline, one.id, "done")
    await timeline.at("14:00:00")
    assert [run.task_id for run in await timeline.runs()] == [one.id, two.id]


async def test_a_goal_without_tasks_is_planned_once(timeline: Timeline) -> None:
    goal, _ = await goal_with(timeline)
    await schedule(timeline, "goal", goal.id)
    await timeline.at("13:00:00")
    await timeline.work()
    await timeline.at("14:00:00")
    planned = {run.task_id or "" for run in await timeline.runs()}
    assert len(planned) == 1
    task, _ = await timeline.engine.read(lambda tx: readable_task(tx, timeline.engine.access, planned.pop()))
    assert (task.goal_id, task.title) == (goal.id, "Plan the goal: Ship it")


@requirement("S3.x.schedule.missed")
@pytest.mark.parametrize("gone", ["done", "archived", "deleted"])
async def test_a_target_that_is_gone_disables_its_schedule_visibly(timeline: Timeline, gone: str) -> None:
    goal, (task,) = await goal_with(timeline, "one")
    kind, target = ("goal", goal.id) if gone == "deleted" else ("task", task.id)
    made = await schedule(timeline, kind, target)
    if gone == "deleted":
        engine = timeline.engine
        await engine.db.write(lambda tx: delete_goal(tx, engine.access, goal.id, engine.rules))
    elif gone == "done":
        await timeline.at("13:00:00")
        await timeline.work()
        await move(timeline, task.id, gone)
    else:
        await move(timeline, task.id, gone)
    before = len(await timeline.runs())
    await timeline.at("15:00:00")
    shown = await timeline.now(made)
    assert (shown["enabled"], shown["disabledReason"]) == (False, "target_gone")
    assert len(await timeline.runs()) == before
    (told,) = await timeline.told("schedule.disabled")
    assert told["schedule"]["disabledReason"] == "target_gone"


@requirement("S3.x.schedule.missed")
async def test_a_failed_window_of_a_task_is_retried_and_ends_with_its_executions(timeline: Timeline) -> None:
    await timeline.engine.make_task("weekly")
    made = await schedule(timeline, "task", "weekly", max_executions=1)
    await timeline.at("13:00:00")
    await timeline.work(FAILED)
    for moment in ("13:01:00", "13:06:00", "13:21:00"):
        await timeline.at(moment)
        await timeline.work(FAILED)
    shown = await timeline.now(made)
    assert (len(await timeline.runs()), shown["executionCount"]) == (4, 1)
    assert (shown["enabled"], shown["disabledReason"]) == (False, "exhausted")


async def test_several_servers_fire_the_window_of_a_task_once(postgres_url: str) -> None:
    async with open_engine(postgres_url, clock=FakeClock(NOON)) as engine:
        timeline = Timeline(engine)
        await engine.make_task("weekly")
        await schedule(timeline, "task", "weekly")
        others = [schedule_duty(engine.db, engine.rules) for _ in range(3)]
        assert isinstance(engine.clock, FakeClock)
        engine.clock.advance(3600)
        seen = await engine.read(lambda tx: timeline.schedules.take(tx, 10))
        for other in (*others, timeline.schedules):
            for item in seen:
                await other.do(item)
        assert len(await timeline.runs()) == 1

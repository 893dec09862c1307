"""Plans run their tasks in order: what begins, what waits, what fails, what is resumed and what is ended."""

from typing import Any

import pytest

from carrel.goals import PlanChange, PlannedTask, draft_plan, end_plan, plans_of_session, resume_plan, set_plan
from carrel.goals.plans import add_tasks, change_plan, set_planned_status
from carrel.kernel import Code
from carrel.kernel.limits import PLAN_TASKS_MAX, PLANS_PER_GOAL_MAX
from carrel.runs import Cancelled, Completed, Failed, NeedsInput, retire_agent
from carrel.sessions import generations_of
from carrel.work import assign_task, reopen_task, stop_task
from tests.goals.planner import CHAT, OTHER_CHAT, Planner
from tests.requirements.mark import requirement
from tests.work.desk import lane

BROKEN = Failed(code="broken", message="The disk is full.")


@requirement("S1.opt.run", "S3.x.plan.steps", "S1.x.opt.graph")
async def test_an_approved_plan_runs_independent_tasks_side_by_side_and_dependent_ones_in_order(
    planner: Planner,
) -> None:
    plan = await planner.plan("paint", "nails", "build<paint,nails", "sell<build")
    assert (await planner.approve(plan)).status == "working"
    working = await planner.claimed()
    assert set(working) == {"paint", "nails"}
    tasks = await planner.tasks(plan)
    assert working["paint"].session_key == lane("writer", tasks["paint"])
    await planner.finish(working["paint"])
    assert await planner.claimed() == {}, "one of two is not enough"
    await planner.finish(working["nails"])
    (build,) = (await planner.claimed()).items()
    assert build[0] == "build"
    await planner.finish(build[1])
    assert await planner.statuses(plan) == {"paint": "done", "nails": "done", "build": "done", "sell": "in_progress"}
    await planner.finish((await planner.claimed())["sell"])
    assert await planner.state(plan) == "completed"
    assert await planner.claimed() == {}
    closed = await planner.read(lambda tx: generations_of(tx, planner.access, str(lane("writer", tasks["paint"]))))
    assert [session.closed_reason for session in closed] == ["task_done"]


@requirement("S1.opt.run")
@requirement("A.done")
async def test_a_turn_that_ends_without_saying_so_leaves_its_task_in_progress(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("paint", "sell<paint", goal=goal)
    await planner.approve(plan)
    await planner.finish((await planner.claimed())["paint"], Completed(reply="Got it, I will start on this now."))
    assert await planner.statuses(plan) == {"paint": "in_progress", "sell": "inbox"}
    assert (await planner.state(plan), await planner.goal_state(goal)) == ("working", "working")


@requirement("A.done")
async def test_the_agent_of_a_plan_says_in_its_run_that_the_task_is_done_though_it_may_finish_no_others(
    planner: Planner,
) -> None:
    other = await planner.create("writer")
    plan = await planner.plan("paint")
    paint = (await planner.tasks(plan))["paint"]
    await planner.assign(paint, "writer")
    (early,) = [held for held in await planner.take(100) if held.task_id == paint.id]
    told = planner.agent("writer", early)
    assert await planner.refused(planner.move(paint, "done", access=told)) == Code.FORBIDDEN, "it was not approved"
    await planner.end(early)
    await planner.approve(plan)
    held = next(held for held in await planner.take(100) if held.task_id == paint.id)
    as_run = planner.agent("writer", held)
    assert await planner.refused(planner.move(other, "done", access=as_run)) == Code.FORBIDDEN
    assert await planner.refused(planner.move(paint, "done", access=planner.agent("writer"))) == Code.FORBIDDEN
    await planner.finish(held)
    assert await planner.statuses(plan) == {"paint": "done"}


@requirement("A.done")
async def test_a_question_about_a_task_of_a_plan_that_was_not_approved_neither_finishes_nor_fails_it(
    planner: Planner,
) -> None:
    plan = await planner.plan("paint")
    paint = (await planner.tasks(plan))["paint"]
    await planner.assign(paint, "writer")
    for outcome in (Completed(reply="It will be red."), BROKEN):
        await planner.post(paint, "@writer which colour?")
        for held in await planner.take(100):
            await planner.finish(held, outcome)
    assert await planner.statuses(plan) == {"paint": "assigned"}
    assert await planner.state(plan) == "ready"


@requirement("A.depend")
async def test_a_task_begins_when_the_turn_it_depends_on_has_given_its_answer(planner: Planner) -> None:
    plan = await planner.plan("paint", "sell<paint")
    await planner.approve(plan)
    held = (await planner.claimed())["paint"]
    await planner.say_done(held)
    await planner.follow()
    assert await planner.statuses(plan) == {"paint": "done", "sell": "inbox"}
    await planner.end(held, Completed(reply="It is red."))
    await planner.follow()
    assert await planner.statuses(plan) == {"paint": "done", "sell": "in_progress"}


@requirement("S1.opt.cascade", "S3.x.plan.steps")
async def test_a_failed_run_fails_its_task_and_plan_and_resuming_begins_it_again(planner: Planner) -> None:
    plan = await planner.plan("paint", "nails", "build<paint")
    await planner.approve(plan)
    working = await planner.claimed()
    await planner.finish(working["paint"], BROKEN)
    failed = (await planner.tasks(plan))["paint"]
    assert (failed.status, failed.metadata, failed.blocked_reason) == (
        "blocked",
        {"failed": True},
        "Its run failed: The disk is full.",
    )
    assert await planner.state(plan) == "failed"
    await planner.finish(working["nails"])
    assert await planner.statuses(plan) == {"paint": "blocked", "nails": "done", "build": "inbox"}
    assert await planner.state(plan) == "failed", "what was independent of it goes on to its end"

    resumed = await planner.db.write(lambda tx: resume_plan(tx, planner.access, plan.id, planner.rules))
    assert resumed.status == "working"
    again = await planner.claimed()
    assert set(again) == {"paint"}
    assert (await planner.tasks(plan))["paint"].metadata == {}
    await planner.finish(again["paint"])
    await planner.finish((await planner.claimed())["build"])
    assert await planner.state(plan) == "completed"


@requirement("S1.opt.cascade")
async def test_a_run_that_waits_for_a_person_blocks_the_plan_until_it_is_answered(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("paint", "nails", goal=goal)
    await planner.approve(plan)
    working = await planner.claimed()
    await planner.finish(working["paint"], NeedsInput(question="Which color?"))
    assert (await planner.state(plan), await planner.goal_state(goal)) == ("blocked", "blocked")
    await planner.answer(working["paint"].id, "red")
    await planner.follow()
    assert (await planner.state(plan), await planner.goal_state(goal)) == ("working", "working")
    for held in (working["nails"], (await planner.claimed())["paint"]):
        await planner.finish(held)
    assert (await planner.state(plan), await planner.goal_state(goal)) == ("completed", "completed")


async def test_a_cancelled_run_fails_its_task_and_a_stopped_task_blocks_its_plan(planner: Planner) -> None:
    one, two = await planner.plan("paint"), await planner.plan("nails")
    for plan in (one, two):
        await planner.approve(plan)
    working = await planner.claimed()
    await planner.finish(working["paint"], Cancelled(reason="stopped"))
    assert (await planner.tasks(one))["paint"].blocked_reason == "Its run was cancelled."
    assert await planner.state(one) == "failed"
    nails = (await planner.tasks(two))["nails"]
    await planner.db.write(lambda tx: stop_task(tx, planner.access, nails.id, planner.rules))
    await planner.finish(working["nails"], Cancelled(reason="stopped"))
    stopped = (await planner.tasks(two))["nails"]
    assert (stopped.blocked_reason, stopped.metadata) == ("Stopped by Olga.", {})
    assert await planner.state(two) == "blocked"
    await planner.db.write(lambda tx: resume_plan(tx, planner.access, two.id, planner.rules))
    assert set(await planner.claimed()) == {"nails"}


async def test_what_a_person_says_of_a_task_holds_against_its_run(planner: Planner) -> None:
    plan = await planner.plan("paint", "build<paint")
    await planner.approve(plan)
    held = (await planner.claimed())["paint"]
    paint = (await planner.tasks(plan))["paint"]
    planner.advance(1)
    await planner.move(paint, "blocked", reason="no brush")
    await planner.follow()
    assert await planner.state(plan) == "blocked"
    told = planner.agent("writer", held)
    assert await planner.refused(planner.move(paint, "done", access=told)) == Code.ILLEGAL_TRANSITION
    await planner.finish(held, Completed(reply="done"))
    assert await planner.statuses(plan) == {"paint": "blocked", "build": "inbox"}, "the agent may have said so itself"
    await planner.move(paint, "in_progress", "review", "done")
    await planner.follow()
    assert set(await planner.claimed()) == {"build"}
    assert await planner.state(plan) == "working"


async def test_a_reopened_task_stays_open(planner: Planner) -> None:
    plan = await planner.plan("paint", "nails<paint")
    await planner.approve(plan)
    await planner.finish((await planner.claimed())["paint"])
    planner.advance(1)
    paint = (await planner.tasks(plan))["paint"]
    await planner.db.write(lambda tx: reopen_task(tx, planner.access, paint.id))
    await planner.follow()
    assert (await planner.statuses(plan))["paint"] == "review"


async def test_what_another_agent_says_about_a_task_does_not_end_it(planner: Planner) -> None:
    plan = await planner.plan("paint")
    await planner.approve(plan)
    held = (await planner.claimed())["paint"]
    paint = (await planner.tasks(plan))["paint"]
    await planner.db.write(lambda tx: assign_task(tx, planner.access, paint.id, planner.rules, agent_ids=("critic",)))
    await planner.finish((await planner.claimed())["paint"], Completed(reply="It looks good."))
    assert await planner.statuses(plan) == {"paint": "in_progress"}
    await planner.finish(held)
    assert await planner.statuses(plan) == {"paint": "done"}


async def test_an_agent_that_cannot_be_told_fails_the_task(planner: Planner) -> None:
    plan = await planner.plan("paint")
    await planner.db.write(lambda tx: retire_agent(tx, planner.access, "writer"))
    await planner.approve(plan)
    await planner.follow()
    assert await planner.state(plan) == "failed"
    assert "could not be told" in ((await planner.tasks(plan))["paint"].blocked_reason or "")


@requirement("S3.x.plan.steps")
async def test_only_a_plan_with_tasks_that_was_not_begun_can_be_approved(planner: Planner) -> None:
    empty = await planner.plan()
    assert await planner.refused(planner.approve(empty)) == Code.ILLEGAL_TRANSITION
    plan = await planner.plan("paint")
    assert (
        await planner.refused(planner.db.write(lambda tx: resume_plan(tx, planner.access, plan.id, planner.rules)))
        == Code.ILLEGAL_TRANSITION
    )
    await planner.approve(plan)
    assert await planner.refused(planner.approve(plan)) == Code.ILLEGAL_TRANSITION
    again = planner.db.write(lambda tx: set_plan(tx, planner.access, plan.id, markdown="new"))
    assert await planner.refused(again) == Code.ILLEGAL_TRANSITION


@requirement("S3.x.addtasks.atomic", "S1.x.opt.limits")
@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([PlannedTask(title="good"), PlannedTask(title=" ")], Code.INVALID_PARAMS),
        ([PlannedTask(title="good"), PlannedTask(title="bad", dependencies=("none",))], Code.INVALID_PARAMS),
        ([PlannedTask(title="good"), PlannedTask(title="bad", dependencies=("task-2",))], Code.INVALID_PARAMS),
        ([PlannedTask(title=f"{n}") for n in range(PLAN_TASKS_MAX)], Code.LIMIT_REACHED),
    ],
)
async def test_several_tasks_are_added_all_or_none(planner: Planner, tasks: list[PlannedTask], code: Code) -> None:
    plan = await planner.plan("paint")
    adding = planner.db.write(lambda tx: add_tasks(tx, planner.access, plan.id, tuple(tasks)))
    assert await planner.refused(adding) == code
    assert await planner.statuses(plan) == {"paint": "inbox"}


@requirement("S1.x.opt.graph")
async def test_circles_and_tasks_of_elsewhere_are_refused_as_dependencies(planner: Planner) -> None:
    circle = (PlannedTask(title="a", dependencies=("task-1",)), PlannedTask(title="b", dependencies=("task-0",)))
    plan = await planner.plan("paint")
    adding = planner.db.write(lambda tx: add_tasks(tx, planner.access, plan.id, circle))
    assert await planner.refused(adding) == Code.INVALID_PARAMS
    goal = await planner.goal()
    near = (await planner.tasks(await planner.plan("near", goal=goal)))["near"]
    far = (await planner.tasks(await planner.plan("far", key=OTHER_CHAT)))["far"]
    mine = await planner.plan("mine", goal=goal)
    for other, code in ((near, None), (far, Code.INVALID_PARAMS)):
        new = (PlannedTask(title="next", dependencies=(other.id,)),)
        adding = planner.db.write(lambda tx, new=new: add_tasks(tx, planner.access, mine.id, new))  # type: ignore[misc]
        if code is None:
            await adding
        else:
            assert await planner.refused(adding) == code


async def test_tasks_that_are_added_to_a_working_plan_begin_too(planner: Planner) -> None:
    plan = await planner.plan("paint")
    await planner.approve(plan)
    working = await planner.claimed()
    paint = (await planner.tasks(plan))["paint"]
    new = (PlannedTask(title="nails"), PlannedTask(title="build", dependencies=("task-0", paint.id)))
    await planner.db.write(lambda tx: add_tasks(tx, planner.access, plan.id, new))
    await planner.follow()
    assert set(await planner.claimed()) == {"nails"}
    await planner.finish(working["paint"])
    assert [task.task_index for task in (await planner.tasks(plan)).values()] == [0, 1, 2]


@pytest.mark.parametrize("status", ["completed", "cancelled"])
async def test_no_tasks_are_added_to_a_plan_that_has_ended(planner: Planner, status: Any) -> None:
    plan = await planner.plan("paint")
    await planner.approve(plan)
    await planner.db.write(lambda tx: end_plan(tx, planner.access, plan.id, status, planner.rules))
    new = (PlannedTask(title="nails"),)
    adding = planner.db.write(lambda tx: add_tasks(tx, planner.access, plan.id, new))
    assert await planner.refused(adding) == Code.ILLEGAL_TRANSITION
    assert set(await planner.statuses(plan)) == {"paint"}


async def test_a_run_that_fails_its_plan_stops_the_others_and_not_itself(planner: Planner) -> None:
    plan = await planner.plan("paint", "nails")
    await planner.approve(plan)
    working = await planner.claimed()
    own = planner.agent("writer", working["paint"])
    await planner.db.write(lambda tx: end_plan(tx, own, plan.id, "failed", planner.rules, key=CHAT))
    assert {title: (await planner.run(held.id)).stopping for title, held in working.items()} == {
        "paint": None,
        "nails": "stopped",
    }


@requirement("S1.x.opt.limits")
async def test_a_goal_has_ten_plans_at_most_and_they_depend_on_each_other_only(planner: Planner) -> None:
    goal = await planner.goal()
    plans = [await planner.plan(goal=goal) for _ in range(PLANS_PER_GOAL_MAX)]
    assert await planner.refused(planner.plan(goal=goal)) == Code.LIMIT_REACHED
    other = await planner.goal()
    assert await planner.refused(planner.plan(goal=other, dependencies=(plans[0].id,))) == Code.INVALID_PARAMS
    assert await planner.refused(planner.plan(dependencies=(plans[0].id,))) == Code.INVALID_PARAMS


async def test_a_plan_that_depends_on_another_begins_when_that_is_completed(planner: Planner) -> None:
    goal = await planner.goal()
    first = await planner.plan("paint", goal=goal)
    second = await planner.plan("sell", goal=goal, dependencies=(first.id,))
    await planner.approve(second)
    await planner.approve(first)
    working = await planner.claimed()
    assert set(working) == {"paint"}
    await planner.finish(working["paint"])
    await planner.finish((await planner.claimed())["sell"])
    assert (await planner.state(second), await planner.goal_state(goal)) == ("completed", "completed")


async def test_new_content_replaces_the_tasks_of_a_plan(planner: Planner) -> None:
    plan = await planner.plan("paint")
    old = (await planner.tasks(plan))["paint"]
    tasks = (PlannedTask(title="nails"),)
    changed = await planner.db.write(lambda tx: set_plan(tx, planner.access, plan.id, title="New", tasks=tasks))
    assert (changed.title, changed.markdown, changed.status) == ("New", "# The plan", "ready")
    assert await planner.statuses(plan) == {"nails": "inbox"}
    gone = await planner.task(old)
    assert (gone.status, gone.plan_id) == ("archived", None)


@pytest.mark.parametrize("status", ["cancelled", "skipped"])
async def test_ending_a_plan_cancels_its_runs_and_archives_what_was_not_finished(planner: Planner, status: str) -> None:
    plan = await planner.plan("paint", "nails", "build<paint")
    await planner.approve(plan)
    if status == "skipped":
        await planner.db.write(
            lambda tx: change_plan(tx, planner.access, plan.id, PlanChange(status="blocked"), planner.rules)
        )
    working = await planner.claimed()
    await planner.finish(working["paint"])
    queued = await planner.claimed() if status == "cancelled" else {}
    await planner.db.write(lambda tx: end_plan(tx, planner.access, plan.id, status, planner.rules))  # type: ignore[arg-type]
    assert await planner.statuses(plan) == {"paint": "done", "nails": "archived", "build": "archived"}
    for held in (working["nails"], *queued.values()):
        assert (await planner.run(held.id)).stopping == "stopped"
    await planner.follow()
    assert await planner.state(plan) == status
    assert await planner.refused(planner.approve(plan)) == Code.ILLEGAL_TRANSITION


async def test_a_plan_that_a_person_holds_goes_on_only_when_it_is_resumed(planner: Planner) -> None:
    plan = await planner.plan("paint", "build<paint")
    await planner.approve(plan)
    held = (await planner.claimed())["paint"]
    blocked = PlanChange(status="blocked")
    await planner.db.write(lambda tx: change_plan(tx, planner.access, plan.id, blocked, planner.rules))
    await planner.finish(held)
    assert (await planner.state(plan), await planner.statuses(plan)) == ("blocked", {"paint": "done", "build": "inbox"})
    await planner.db.write(lambda tx: resume_plan(tx, planner.access, plan.id, planner.rules))
    assert set(await planner.claimed()) == {"build"}


@requirement("S1.opt.cascade")
async def test_what_the_planner_says_of_a_task_takes_effect_at_once(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("paint", "nails<paint", goal=goal)
    tasks = await planner.tasks(plan)

    async def say(title: str, status: str) -> tuple[str, str, str | None]:
        task, after, its_goal = await planner.db.write(
            lambda tx: set_planned_status(tx, planner.access, tasks[title].id, status, planner.rules)
        )
        return task.status, after.status, its_goal.status if its_goal else None

    assert await say("paint", "in_progress") == ("in_progress", "ready", "submitted")
    assert await say("paint", "blocked") == ("blocked", "blocked", "blocked")
    assert await say("paint", "in_progress") == ("in_progress", "blocked", "blocked")
    assert await say("paint", "done") == ("done", "blocked", "blocked")
    assert await planner.claimed() == {}, "nobody has approved the plan"
    assert await say("nails", "failed") == ("blocked", "failed", "failed")
    assert await say("nails", "done") == ("done", "completed", "completed")


async def test_plans_of_another_session_are_not_found(planner: Planner) -> None:
    plan = await planner.plan("paint")
    await planner.plan("theirs", key=OTHER_CHAT)
    for work in (
        lambda tx: set_plan(tx, planner.access, plan.id, key=OTHER_CHAT, markdown="mine"),
        lambda tx: end_plan(tx, planner.access, plan.id, "cancelled", planner.rules, key=OTHER_CHAT),
        lambda tx: resume_plan(tx, planner.access, plan.id, planner.rules, key=OTHER_CHAT),
        lambda tx: add_tasks(tx, planner.access, plan.id, (), key=OTHER_CHAT),
    ):
        assert await planner.refused(planner.db.write(work)) == Code.NOT_FOUND
    assert [one.id for one in await planner.read(lambda tx: plans_of_session(tx, planner.access, CHAT))] == [plan.id]


async def test_a_draft_has_bounds(planner: Planner) -> None:
    for more in ({"markdown": "x" * 100_001}, {"title": "x" * 2_001}, {"metadata": {"x": "y" * 70_000}}):
        drafting = planner.db.write(lambda tx, more=more: draft_plan(tx, planner.access, CHAT, **more))  # type: ignore[misc]
        assert await planner.refused(drafting) == Code.TOO_LONG

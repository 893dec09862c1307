"""Goals of sessions: what they become by their plans, what cancelling and deleting them ends, and whose they are."""

from typing import Any

import pytest
from msgspec import structs

from carrel.goals import (
    Goal,
    Objectives,
    PlannedTask,
    PlanShape,
    add_goal_task,
    complete_goal,
    delete_goal,
    draft_plan,
    find_goal,
    find_plan,
    goal_of_task,
    goal_shape,
    goals,
    goals_of_session,
    make_goal,
    next_open_task,
    plan_shape,
    resume_plan,
    set_plan,
)
from carrel.goals.goals import replan_goal
from carrel.kernel import Code, SessionKey
from carrel.memory import NewMemory, Scope, keep, memories_listed
from carrel.runs import Cancelled, Failed, Rules, remove_lane
from carrel.sessions import lane_of
from carrel.storage import Tx
from tests.goals.planner import CHAT, OTHER_CHAT, Planner
from tests.requirements.mark import requirement


async def test_a_goal_is_created_submitted_and_told_to_its_session(planner: Planner) -> None:
    goal = await planner.goal("Ship it", description="by Friday", metadata={"team": "red"})
    assert (goal.status, goal.agent_id, goal.made_by) == ("submitted", "writer", planner.access.actor_id)
    shape = await planner.read(lambda tx: goal_shape(tx, planner.access, goal))
    assert (shape.session_id, shape.plans, shape.tasks) == ("chat-0001", [], [])
    (event,) = await planner.events("goal.created")
    assert event.key == str(CHAT)
    assert await planner.refused(planner.goal(" ")) == Code.INVALID_PARAMS
    assert await planner.refused(planner.goal("x" * 2_001)) == Code.TOO_LONG


@requirement("S1.opt.cascade")
async def test_a_goal_is_completed_when_all_its_plans_are_and_fails_when_one_failed(planner: Planner) -> None:
    goal = await planner.goal()
    one, two = await planner.plan("paint", goal=goal), await planner.plan("nails", goal=goal)
    for plan in (one, two):
        await planner.approve(plan)
    assert await planner.goal_state(goal) == "working"
    working = await planner.claimed()
    await planner.finish(working["paint"], Failed(code="broken", message="no"))
    assert await planner.goal_state(goal) == "working", "one plan still works"
    await planner.finish(working["nails"])
    assert await planner.goal_state(goal) == "failed"
    await planner.db.write(lambda tx: resume_plan(tx, planner.access, one.id, planner.rules))
    assert await planner.goal_state(goal) == "working"
    await planner.finish((await planner.claimed())["paint"])
    assert await planner.goal_state(goal) == "completed"
    names = [event.body.partition('"status":"')[2].partition('"')[0] for event in await planner.events("goal.updated")]
    assert names == ["working", "failed", "planning", "working", "completed"], "every step is a legal move"


async def test_a_plan_is_shown_with_its_tasks_in_their_order(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("sell<paint", "paint", goal=goal)
    shape: PlanShape = await planner.read(lambda tx: plan_shape(tx, planner.access, plan))
    assert (shape.session_id, shape.goal_id, shape.status, shape.markdown) == (
        "chat-0001",
        goal.id,
        "ready",
        plan.markdown,
    )
    assert [(task.title, task.task_index) for task in shape.tasks] == [("sell", 0), ("paint", 1)]
    assert shape.tasks[0].dependencies == [shape.tasks[1].id]


@requirement("S1.opt.cancel")
async def test_cancelling_a_goal_skips_what_waits_fails_what_works_and_cancels_the_runs(planner: Planner) -> None:
    goal = await planner.goal()
    waiting = await planner.plan("later", goal=goal)
    working = await planner.plan("paint", "nails", "build<paint", goal=goal)
    await planner.approve(working)
    (running,) = await planner.take(1)
    await planner.admit(running)
    cancelled = await planner.change(goal, status="cancelled")
    assert cancelled.status == "cancelled"
    assert (await planner.state(waiting), await planner.state(working)) == ("skipped", "failed")
    assert await planner.statuses(waiting) == {"later": "archived"}
    assert (await planner.run(running.id)).stopping == "stopped"
    assert await planner.take(10) == [], "what was queued is cancelled"
    await planner.finish(running, Cancelled(reason="stopped"))
    assert (await planner.state(working), await planner.goal_state(goal)) == ("failed", "cancelled")
    assert await planner.refused(planner.plan(goal=goal)) == Code.ILLEGAL_TRANSITION
    resuming = planner.db.write(lambda tx: resume_plan(tx, planner.access, working.id, planner.rules))
    assert await planner.refused(resuming) == Code.ILLEGAL_TRANSITION

    await planner.change(goal, status="submitted")
    await planner.db.write(lambda tx: resume_plan(tx, planner.access, working.id, planner.rules))
    assert set(await planner.claimed()) == {"paint", "nails"}, "taken back, it begins again"


@requirement("S1.opt.cancel")
async def test_nothing_begins_for_a_cancelled_goal_whatever_becomes_of_its_tasks(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("paint", "sell<paint", goal=goal)
    await planner.approve(plan)
    await planner.finish((await planner.claimed())["paint"], Failed(code="broken", message="no"))
    await planner.change(goal, status="submitted")
    await planner.change(goal, status="cancelled")
    await planner.move((await planner.tasks(plan))["paint"], "in_progress", "review", "done")
    await planner.follow()
    assert (await planner.statuses(plan), await planner.state(plan)) == ({"paint": "done", "sell": "inbox"}, "failed")


async def test_completing_a_goal_ends_what_is_left_of_its_plans(planner: Planner) -> None:
    goal = await planner.goal()
    waiting, working = await planner.plan("later", goal=goal), await planner.plan("paint", goal=goal)
    await planner.approve(working)
    done = await planner.db.write(lambda tx: complete_goal(tx, planner.access, goal.id, planner.rules))
    assert done.status == "completed"
    assert (await planner.state(waiting), await planner.state(working)) == ("skipped", "cancelled")
    assert await planner.take(10) == []
    assert await planner.refused(planner.change(goal, status="working")) == Code.ILLEGAL_TRANSITION
    assert await planner.refused(planner.plan(goal=goal)) == Code.ILLEGAL_TRANSITION


async def test_a_goal_that_is_planned_again_holds_what_works_and_skips_what_waits(planner: Planner) -> None:
    goal = await planner.goal()
    waiting, working = await planner.plan("later", goal=goal), await planner.plan("paint", "build<paint", goal=goal)
    await planner.approve(working)
    held = (await planner.claimed())["paint"]
    again = await planner.db.write(lambda tx: replan_goal(tx, planner.access, goal.id, "too dear", planner.rules))
    assert again.status == "planning"
    assert (await planner.state(waiting), await planner.state(working)) == ("skipped", "blocked")
    await planner.finish(held)
    assert await planner.claimed() == {}, "nothing of a plan that is held begins"
    assert await planner.goal_state(goal) == "planning"


async def test_the_next_open_task_of_a_goal_is_the_begun_one_else_the_first_that_is_ready(planner: Planner) -> None:
    goal = await planner.goal()

    async def following() -> str | None:
        task = await planner.read(lambda tx: next_open_task(tx, planner.access, goal))
        return None if task is None else task.title

    assert await following() is None
    plan = await planner.plan("build<paint", "paint", "sell", goal=goal)
    assert await following() == "paint"
    tasks = await planner.tasks(plan)
    await planner.assign(tasks["sell"], "writer")
    await planner.move(tasks["sell"], "in_progress")
    assert await following() == "sell"
    await planner.move(tasks["sell"], "blocked", reason="no buyer")
    await planner.assign(tasks["paint"], "writer")
    await planner.move(tasks["paint"], "in_progress", "review", "done")
    assert await following() == "build"
    alone = await planner.db.write(lambda tx: add_goal_task(tx, planner.access, goal, PlannedTask(title="think")))
    found = await planner.read(lambda tx: goal_of_task(tx, planner.access, alone.id))
    assert (alone.plan_id, found and found.id) == (None, goal.id)


async def test_deleting_a_goal_deletes_its_plans_and_memory_and_leaves_its_tasks(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("paint", goal=goal)
    await planner.approve(plan)
    scope = Scope.of_goal(CHAT.identity, goal.id)
    new = NewMemory(type="decision", content="Red paint")
    await planner.db.write(lambda tx: keep(tx, planner.access, scope, "writer", new))
    paint = (await planner.tasks(plan))["paint"]
    await planner.db.write(lambda tx: delete_goal(tx, planner.access, goal.id, planner.rules))
    for gone in (
        planner.read(lambda tx: find_goal(tx, planner.access, goal.id)),
        planner.read(lambda tx: find_plan(tx, planner.access, plan.id)),
    ):
        assert await planner.refused(gone) == Code.NOT_FOUND
    places = [(str(scope), "writer")]
    assert (
        await planner.read(lambda tx: memories_listed(tx, planner.access, places, kind=None, before=None, limit=9))
        == []
    )
    left = await planner.task(paint)
    assert (left.status, left.goal_id, left.plan_id) == ("archived", None, None)
    assert await planner.take(10) == []
    assert await planner.follow() == 0


async def test_a_deleted_session_takes_its_goals_and_plans_with_it(planner: Planner) -> None:
    goal = await planner.goal()
    plans = [await planner.plan("paint", goal=goal), await planner.plan("nails")]
    other = await planner.goal(key=OTHER_CHAT)
    for plan in plans:
        await planner.approve(plan)

    await planner.say(CHAT, "hello")

    def delete(tx: Tx) -> None:
        lane = lane_of(tx, planner.access, CHAT)
        assert lane is not None
        remove_lane(tx, planner.access, lane)

    await planner.db.write(delete)
    found = await planner.read(lambda tx: goals_of_session(tx, planner.access, CHAT, limit=9))
    assert found == []
    for plan in plans:
        gone = planner.read(lambda tx, plan=plan: find_plan(tx, planner.access, plan.id))  # type: ignore[misc]
        assert await planner.refused(gone) == Code.NOT_FOUND
    assert await planner.take(10) == []
    assert await planner.goal_state(other) == "submitted"


async def test_a_goal_of_another_session_is_not_found(planner: Planner) -> None:
    goal = await planner.goal()
    assert (await planner.read(lambda tx: find_goal(tx, planner.access, goal.id, key=CHAT))).id == goal.id
    for work in (
        lambda tx: find_goal(tx, planner.access, goal.id, key=OTHER_CHAT),
        lambda tx: complete_goal(tx, planner.access, goal.id, planner.rules, key=OTHER_CHAT),
        lambda tx: delete_goal(tx, planner.access, goal.id, planner.rules, key=OTHER_CHAT),
        lambda tx: replan_goal(tx, planner.access, goal.id, "", planner.rules, key=OTHER_CHAT),
    ):
        assert await planner.refused(planner.db.write(work)) == Code.NOT_FOUND


async def test_a_goal_is_seen_by_those_who_may_see_its_session(planner: Planner) -> None:
    goal = await planner.goal()
    stranger = await planner.person("sam")
    assert await planner.refused(planner.read(lambda tx: find_goal(tx, stranger, goal.id))) == Code.NOT_FOUND
    shared = await planner.goal(key=SessionKey.of("writer", "main"))
    assert (await planner.read(lambda tx: find_goal(tx, stranger, shared.id))).id == shared.id


async def test_everybody_lists_the_goals_they_made_themselves(planner: Planner) -> None:
    client = structs.replace(planner.access, kind="client", actor_id="tok_client")
    key = SessionKey.of("main", "hook:client")
    made = [
        await planner.db.write(lambda tx, n=n: make_goal(tx, client, key, name=f"goal {n}"))  # type: ignore[misc]
        for n in range(3)
    ]
    await planner.goal()

    async def listed(**more: Any) -> tuple[list[str], int]:
        found, total = await planner.read(
            lambda tx: Objectives(tx, client, "main", Rules(), plans_max=1, tasks_max=1).page(**more)
        )
        return [goal.name for goal in found], total

    assert await listed(limit=2, status=None, before=None) == (["goal 2", "goal 1"], 3)
    assert await listed(limit=2, status=None, before=made[1].id) == (["goal 0"], 3)
    assert await listed(limit=2, status="working", before=None) == ([], 0)


@requirement("S3.x.addtasks.atomic")
async def test_equal_ids_in_two_accounts_have_nothing_to_do_with_each_other(planner: Planner) -> None:
    theirs = await planner.another_account("theirs")
    await planner.make_agent("writer", theirs)

    async def prepare(access: Any) -> Goal:
        def work(tx: Tx) -> Goal:
            goal = make_goal(tx, access, CHAT, name="Ship it", goal_id="goal_same")
            plan = draft_plan(tx, access, CHAT, goal=goal)
            set_plan(tx, access, plan.id, tasks=(PlannedTask(title="paint"),))
            return goal

        return await planner.db.write(work)

    mine, other = await prepare(planner.access), await prepare(theirs)
    assert mine.id == other.id
    await planner.change(mine, status="cancelled", name="Mine")
    found = await planner.read(lambda tx: find_goal(tx, theirs, other.id))
    assert (found.status, found.name) == ("submitted", "Ship it")
    await planner.db.write(lambda tx: delete_goal(tx, planner.access, mine.id, planner.rules))
    shape = await planner.read(lambda tx: goal_shape(tx, theirs, found))
    assert [(plan.status, [task.status for task in plan.tasks]) for plan in shape.plans] == [("ready", ["inbox"])]


async def test_a_session_has_a_limited_number_of_goals(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "SESSION_GOALS_MAX", 2)
    first = await planner.goal("One")
    await planner.goal("Two")
    assert await planner.refused(planner.goal("Three")) == Code.LIMIT_REACHED
    await planner.goal("Elsewhere", OTHER_CHAT)
    await planner.db.write(lambda tx: delete_goal(tx, planner.access, first.id, planner.rules))
    await planner.goal("Three")

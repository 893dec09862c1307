"""Plans under concurrency and across crashes: nothing is lost, nothing begins twice, and nobody waits for a plan."""

import asyncio
import threading

from carrel.goals import end_plan, plan_duty
from carrel.goals.plans import hold_plan
from carrel.goals.store import notes_of_plan
from carrel.runs import Completed
from carrel.storage import Tx
from carrel.work import TaskChanged
from tests.goals.planner import Planner, open_planner
from tests.harness.engine import SECONDS_MAX, within
from tests.requirements.mark import requirement


@requirement("S1.opt.run")
async def test_a_crash_between_the_end_of_a_run_and_the_next_task_loses_nothing(store_url: str) -> None:
    async with open_planner(store_url) as planner:
        plan = await planner.plan("paint", "build<paint")
        await planner.approve(plan)
        held = (await planner.claimed())["paint"]
        await planner.follow()
        planner.advance(1)
        await planner.say_done(held)
        await planner.follow()
        await planner.end(held)
        assert await planner.statuses(plan) == {"paint": "done", "build": "inbox"}
    async with open_planner(store_url) as again:
        again.advance(2)
        await again.follow()
        assert await again.statuses(plan) == {"paint": "done", "build": "in_progress"}
        assert set(await again.claimed()) == {"build"}


async def test_two_runs_end_while_their_plan_is_held_and_neither_waits(postgres_url: str) -> None:
    """A run that ends holds its lane; whoever holds the plan may want that lane next."""
    async with open_planner(postgres_url) as planner:
        goal = await planner.goal()
        plan = await planner.plan("paint", "nails", goal=goal)
        await planner.approve(plan)
        working = await planner.claimed()
        await planner.say_done(*working.values())
        await planner.follow()
        inside, go_on = threading.Event(), threading.Event()

        def hold(tx: Tx) -> None:
            hold_plan(tx, planner.access, plan)
            inside.set()
            assert go_on.wait(SECONDS_MAX)

        holding = asyncio.ensure_future(planner.db.write(hold))
        assert await asyncio.to_thread(inside.wait, SECONDS_MAX)
        try:
            planner.advance(1)
            await within(asyncio.gather(*(planner.end(held) for held in working.values())), 5)
            noted = await planner.read(lambda tx: notes_of_plan(tx, planner.access, plan.id))
            assert len(noted) == 2
        finally:
            go_on.set()
            await holding
        await planner.follow()
        assert await planner.state(plan) == "completed"


@requirement("S1.x.opt.graph")
async def test_two_runs_that_end_at_once_begin_the_task_that_waits_for_both_once(planner: Planner) -> None:
    plan = await planner.plan("paint", "nails", "build<paint,nails")
    await planner.approve(plan)
    working = await planner.claimed()
    await planner.say_done(*working.values())
    await planner.follow()
    planner.advance(1)
    await within(asyncio.gather(*(planner.end(held, Completed(reply="done")) for held in working.values())))
    duty = plan_duty(planner.db, planner.rules)
    (item,) = await planner.read(lambda tx: duty.take(tx, 10))
    await within(asyncio.gather(*(duty.do(item) for _ in range(4))))
    await planner.follow()
    assert await planner.told((await planner.tasks(plan))["build"]) == [("writer", "assignment")]


@requirement("S1.x.opt.graph")
async def test_an_end_that_is_noted_while_the_plan_is_followed_is_followed_too(postgres_url: str) -> None:
    """The second run ends after the duty has read the plan and before it deletes what was noted."""
    async with open_planner(postgres_url) as planner:
        plan = await planner.plan("paint", "nails", "build<paint,nails", "sell<paint")
        await planner.approve(plan)
        working = await planner.claimed()
        await planner.say_done(*working.values())
        await planner.follow()
        planner.advance(1)
        await planner.end(working["paint"])
        inside, go_on = threading.Event(), threading.Event()

        def pause(tx: Tx, changed: TaskChanged) -> None:
            if changed.task.title == "sell" and not inside.is_set():
                inside.set()
                assert go_on.wait(SECONDS_MAX)

        planner.db.observe(TaskChanged, pause)
        duty = plan_duty(planner.db, planner.rules)
        (item,) = await planner.read(lambda tx: duty.take(tx, 10))
        following = asyncio.ensure_future(duty.do(item))
        assert await asyncio.to_thread(inside.wait, SECONDS_MAX)
        try:
            await within(planner.end(working["nails"]), 5)
        finally:
            go_on.set()
            await following
        await planner.follow()
        assert await planner.told((await planner.tasks(plan))["build"]) == [("writer", "assignment")]


async def test_ends_cancellations_and_moves_of_one_plan_come_to_an_end(planner: Planner) -> None:
    goal = await planner.goal()
    plan = await planner.plan("a", "b", "c", "d<a,b", "e<c", goal=goal)
    await planner.approve(plan)
    working = await planner.claimed()
    tasks = await planner.tasks(plan)
    planner.advance(1)
    await planner.say_done(working["a"], working["b"])
    jobs = [planner.end(held) for held in working.values()]
    jobs += [planner.follow(), planner.follow(), planner.move(tasks["c"], "blocked", reason="paint")]  # type: ignore[list-item]
    jobs.append(planner.db.write(lambda tx: end_plan(tx, planner.access, plan.id, "cancelled", planner.rules)))  # type: ignore[arg-type]
    await within(asyncio.gather(*jobs, return_exceptions=True))
    await planner.follow()
    assert await planner.state(plan) == "cancelled"
    assert set((await planner.statuses(plan)).values()) <= {"done", "archived"}
    assert await planner.take(10) == []

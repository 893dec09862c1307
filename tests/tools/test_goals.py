"""The tools for goals, and the memory of a goal's tasks: bound to the session that the goal belongs to."""

from typing import Any

from carrel.goals import Goal, Plan, PlannedTask, approve_plan, draft_plan, make_goal, set_plan
from carrel.kernel import SessionKey
from carrel.runs import run_by_id
from carrel.storage import Tx
from carrel.work import tasks_planned
from carrel.work.run_store import live_runs_of_task
from tests.memory.places import Notebook, counted
from tests.requirements.mark import requirement
from tests.tools.task_world import Seat, TaskWorld, twin_of

CHAT = SessionKey.of("writer", "web:chat-0001")


async def seat_in(world: TaskWorld, key: SessionKey = CHAT) -> Seat:
    """Return an agent in a run in one of its lanes."""
    run = await world.engine.say(key, "go on", access=world.owner)
    return Seat(world, run, await world.engine.read(lambda tx: world.caller_of(tx, run)))


async def seats_of(world: TaskWorld, *titles: str, key: SessionKey = CHAT, **more: Any) -> tuple[Goal, dict[str, Seat]]:
    """Create a goal with a plan that works; return the runs of its tasks by their titles."""

    def work(tx: Tx) -> tuple[Goal, Plan]:
        goal = make_goal(tx, world.owner, key, name="Ship it", **more)
        plan = draft_plan(tx, world.owner, key, goal=goal)
        tasks = tuple(PlannedTask(title=title) for title in titles)
        set_plan(tx, world.owner, plan.id, tasks=tasks)
        return goal, approve_plan(tx, world.owner, plan.id, world.engine.rules)

    goal, plan = await world.engine.db.write(work)

    def seats(tx: Tx) -> dict[str, Seat]:
        found = {}
        for task in tasks_planned(tx, world.access, plan_id=plan.id):
            (live,) = live_runs_of_task(tx, world.access, task.id)
            run = run_by_id(tx, world.access, live.id)
            assert run is not None
            found[task.title] = Seat(world, run, world.caller_of(tx, run))
        return found

    return goal, await world.engine.read(seats)


async def contents(seat: Seat, query: str) -> list[str]:
    return sorted(item["content"] for item in (await seat.call("memory_search", query=query))["items"])


async def test_an_agent_creates_plans_changes_and_completes_a_goal_of_its_session(world: TaskWorld) -> None:
    seat = await seat_in(world)
    goal = (await seat.call("goal_create", name="Ship it", description="by Friday"))["goal"]
    assert (goal["status"], goal["sessionId"], goal["plans"], goal["tasks"]) == ("submitted", "chat-0001", [], [])
    tasks = [{"title": "paint"}, {"title": "sell", "dependencies": ["task-0"]}]
    planned = (await seat.call("goal_plan_tasks", goalId=goal["id"], tasks=tasks))["tasks"]
    assert [(task["title"], task["status"]) for task in planned] == [("paint", "inbox"), ("sell", "inbox")]
    assert planned[1]["dependencies"] == [planned[0]["id"]]
    more = (await seat.call("goal_plan_tasks", goalId=goal["id"], tasks=[{"title": "rest"}]))["tasks"]
    assert more[0]["planId"] == planned[0]["planId"], "the plan was not begun, so it grows"
    changed = (await seat.call("goal_update", id=goal["id"], name="Ship all", status="planning"))["goal"]
    assert (changed["name"], changed["description"], changed["status"]) == ("Ship all", "by Friday", "planning")
    done = (await seat.call("goal_complete", id=goal["id"]))["goal"]
    assert (done["status"], [plan["status"] for plan in done["plans"]]) == ("completed", ["skipped"])
    assert [one["id"] for one in (await seat.call("goal_list"))["goals"]] == [goal["id"]]
    assert await seat.refused("goal_update", id=goal["id"], status="working") == "illegal_transition"


@requirement("S3.x.addtasks.atomic")
async def test_tasks_are_planned_all_or_none(world: TaskWorld) -> None:
    seat = await seat_in(world)
    goal = (await seat.call("goal_create", name="Ship it"))["goal"]
    broken = [{"title": "paint"}, {"title": "sell", "dependencies": ["task-7"]}]
    assert await seat.refused("goal_plan_tasks", goalId=goal["id"], tasks=broken) == "invalid_params"
    (kept,) = (await seat.call("goal_list"))["goals"]
    assert (kept["plans"], kept["tasks"]) == ([], [])


async def test_goals_of_other_sessions_agents_and_accounts_are_out_of_reach(world: TaskWorld) -> None:
    goal = (await (await seat_in(world)).call("goal_create", name="Ship it"))["goal"]
    twin = await twin_of(world)
    others = [
        await seat_in(world, SessionKey.of("writer", "web:chat-0002")),
        await seat_in(world, SessionKey.of("reviewer", "web:chat-0001")),
        await seat_in(twin),
    ]
    for seat in others:
        assert (await seat.call("goal_list"))["goals"] == []
        assert await seat.refused("goal_complete", id=goal["id"]) == "not_found"
        assert await seat.refused("goal_update", id=goal["id"], name="mine") == "not_found"
        assert await seat.refused("goal_plan_tasks", goalId=goal["id"], tasks=[{"title": "x"}]) == "not_found"


@requirement("S3.scope.identity", "S3.scope.chain.goal", "S3.scope.overlay", "S3.inv.4", "S3.scope.persist.goal")
async def test_the_tasks_of_a_goal_share_its_scope_and_its_sessions_and_keep_their_own(world: TaskWorld) -> None:
    goal, seats = await seats_of(world, "paint", "sell")
    chat, paint, sell = await seat_in(world), seats["paint"], seats["sell"]
    scopes = [f"task:{paint.run.task_id}", f"goal:web:chat-0001:{goal.id}", "session:web:chat-0001", "global"]
    assert (await paint.call("memory_search", query="x"))["chain"] == scopes
    for kind, scope in (("result", scopes[0]), ("decision", scopes[1]), ("constraint", scopes[1]), ("fact", scopes[2])):
        item = (await paint.call("memory_add", content=f"{kind} of red paint", type=kind))["item"]
        assert item["scope"] == scope
    item = (await paint.call("memory_add", content="chosen paint", type="fact", scope="goal"))["item"]
    assert item["scope"] == scopes[1]
    shared = ["chosen paint", "constraint of red paint", "decision of red paint", "fact of red paint"]
    assert await contents(sell, "paint") == shared
    assert await contents(paint, "paint") == sorted([*shared, "result of red paint"])
    assert await contents(chat, "paint") == ["fact of red paint"], "the session reads no goal"
    assert [one["id"] for one in (await paint.call("goal_list"))["goals"]] == [goal.id], "its goals are the session's"


@requirement("S3.scope.chain.task")
async def test_a_task_without_a_goal_reads_no_goal_scope(world: TaskWorld) -> None:
    goal, _ = await seats_of(world, "paint")
    await Notebook(world.engine, world.access).keep("aim", f"goal:web:chat-0001:{goal.id}", "writer")
    task = await world.task()
    seat = await world.seat("writer", task.id)
    found = await seat.call("memory_search", query="aim")
    assert (found["chain"], found["items"]) == ([f"task:{task.id}", f"session:task:{task.id}", "global"], [])
    assert await seat.refused("memory_add", content="x", type="fact", scope="goal") == "invalid_scope"


@requirement("S3.inv.5")
async def test_an_equal_goal_id_in_another_session_or_account_reads_nothing(world: TaskWorld) -> None:
    goal, seats = await seats_of(world, "paint", goal_id="goal_same")
    item = (await seats["paint"].call("memory_add", content="red paint", type="decision"))["item"]
    twin = await twin_of(world)
    _, theirs = await seats_of(twin, "paint", goal_id="goal_same")
    _, elsewhere = await seats_of(world, "paint", key=SessionKey.of("writer", "web:chat-0002"))
    notes = Notebook(world.engine, world.access)
    # As if it were told of the same goal: the scope is bound to the session all the same.
    await notes.keep("their paint", f"goal:web:chat-0002:{goal.id}", "writer")
    for seat in (theirs["paint"], elsewhere["paint"]):
        assert await contents(seat, "paint") == []
        before = counted("memory.scope.cross_session_blocked.count")
        assert await seat.refused("memory_read", id=item["id"]) == "not_found"
        assert counted("memory.scope.cross_session_blocked.count") >= before
    assert await contents(seats["paint"], "paint") == ["red paint"]


async def test_a_run_that_completes_its_own_goal_is_not_cancelled_by_that(world: TaskWorld) -> None:
    goal, seats = await seats_of(world, "paint", "sell")
    assert len(await world.engine.take(2)) == 2
    assert (await seats["paint"].call("goal_complete", id=goal.id))["goal"]["status"] == "completed"
    assert [(await world.engine.run(seat.run)).stopping for seat in seats.values()] == [None, "stopped"]

"""Plans and their tasks: order, limits, what one means for the other, and the runs that work on them."""

import asyncio
from functools import partial
from itertools import product

import httpx

from carrel.kernel.settings import A2aOptSettings, A2aSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import (
    COMPLETED,
    WORKING,
    Json,
    ask,
    get,
    refusal,
    send,
    state,
    subscribe,
    summary,
    text_of,
)
from tests.surfaces.a2a.opt_calls import (
    begin,
    done,
    new_objective,
    new_plan,
    objective_of,
    opt,
    plan_of,
    set_status,
    until,
    until_objective,
    until_plan,
)

MOVES = {
    "pending": {"working", "skipped"},
    "working": {"blocked", "completed", "failed"},
    "blocked": {"working", "failed", "skipped"},
    "failed": {"pending", "working"},
    "completed": set(),
    "skipped": set(),
}
WAYS = {
    "pending": [],
    "working": ["working"],
    "blocked": ["working", "blocked"],
    "failed": ["working", "failed"],
    "completed": ["working", "completed"],
    "skipped": ["skipped"],
}


def statuses(plan: Json) -> list[str]:
    return [task["status"] for task in plan["tasks"]]


async def until_tasks(client: httpx.AsyncClient, plan: Json, *wanted: str) -> None:
    await until(lambda: plan_of(client, plan), lambda found: statuses(found) == list(wanted))


@requirement("S1.opt.plan", "S1.opt.plantask", "S1.opt.methods")
async def test_a_plan_and_its_tasks_have_their_fields_and_begin_pending(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    first = await new_plan(on_either, objective)
    tasks = [{"name": "dig", "description": "A hole."}, {"name": "fill", "dependencies": ["task-0"]}]
    plan = await new_plan(
        on_either, objective, *tasks, description="Why.", metadata={"a": 1}, dependencies=[first["id"]]
    )
    dig, fill = plan.pop("tasks")
    assert plan == {
        "id": plan["id"],
        "objectiveId": objective["id"],
        "name": "First plan",
        "description": "Why.",
        "status": "pending",
        "dependencies": [first["id"]],
        "metadata": {"a": 1},
        "createdAt": plan["createdAt"],
        "updatedAt": plan["updatedAt"],
    }
    places = {"planId": plan["id"], "objectiveId": objective["id"], "status": "pending", "metadata": {}}
    assert dig == places | {
        "id": dig["id"],
        "name": "dig",
        "description": "A hole.",
        "taskIndex": 0,
        "dependencies": [],
    }
    assert fill == places | {
        "id": fill["id"],
        "name": "fill",
        "description": "",
        "taskIndex": 1,
        "dependencies": [dig["id"]],
    }
    assert (await done(on_either, "plans/get", id=plan["id"], includeTasks=False))["plan"] == plan
    more = await done(on_either, "plans/addTasks", id=plan["id"], tasks=[{"name": "rest", "dependencies": [dig["id"]]}])
    assert [(task["name"], task["taskIndex"]) for task in more["plan"]["tasks"]] == [
        ("dig", 0),
        ("fill", 1),
        ("rest", 2),
    ]
    assert more["plan"]["tasks"][2]["dependencies"] == [dig["id"]]
    board = (await on_either.get(f"/api/tasks/{dig['id']}")).json()["task"]
    assert (board["title"], board["planId"], board["goalId"]) == ("dig", plan["id"], objective["id"])


@requirement("S1.opt.plan", "S1.x.opt.codes")
async def test_what_does_not_exist_is_refused_with_its_own_reason(client: httpx.AsyncClient) -> None:
    run = await send(client, "hello")
    plan = await new_plan(client, await new_objective(client), "one")
    task = plan["tasks"][0]["id"]
    for reason, method, params in (
        ("OBJECTIVE_NOT_FOUND", "objectives/get", {"id": "nothing"}),
        ("OBJECTIVE_NOT_FOUND", "objectives/update", {"id": "nothing", "name": "x"}),
        ("OBJECTIVE_NOT_FOUND", "objectives/replan", {"id": plan["id"]}),
        ("OBJECTIVE_NOT_FOUND", "plans/create", {"objectiveId": "nothing", "name": "x"}),
        ("PLAN_NOT_FOUND", "plans/get", {"id": "nothing"}),
        ("PLAN_NOT_FOUND", "plans/update", {"id": plan["objectiveId"], "name": "x"}),
        ("PLAN_NOT_FOUND", "plans/addTasks", {"id": "nothing", "tasks": [{"name": "x"}]}),
        ("PLAN_TASK_NOT_FOUND", "tasks/updateStatus", {"id": "nothing", "status": "working"}),
        ("PLAN_TASK_NOT_FOUND", "tasks/link", {"planTaskId": run["id"], "a2aTaskId": run["id"]}),
    ):
        assert refusal(await opt(client, method, **params)) == (-32000, reason, None)
    for unknown in ("nothing", task, plan["id"]):
        answer = await opt(client, "tasks/link", planTaskId=task, a2aTaskId=unknown)
        assert refusal(answer) == (-32001, "TASK_NOT_FOUND", None)


@requirement("S1.opt.plan.moves", "S1.x.opt.codes")
async def test_a_plan_moves_only_as_its_table_says(client: httpx.AsyncClient) -> None:
    for before, after in product(MOVES, MOVES):
        plan = await new_plan(client, await new_objective(client))
        for status in WAYS[before]:
            await done(client, "plans/update", id=plan["id"], status=status)
        answer = await opt(client, "plans/update", id=plan["id"], status=after)
        if after == before or after in MOVES[before]:
            assert answer["result"]["plan"]["status"] == after
        else:
            assert refusal(answer)[:2] == (-32000, "INVALID_TRANSITION"), (before, after)
            assert (await plan_of(client, plan))["status"] == before


@requirement("S1.x.opt.limits", "S1.x.opt.codes")
async def test_an_eleventh_plan_and_a_fifty_first_task_are_refused_whole(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    plan = await new_plan(on_either, objective, *[f"task {n}" for n in range(49)])
    many = [{"name": "one"}, {"name": "too many"}]
    answer = await opt(on_either, "plans/addTasks", id=plan["id"], tasks=many)
    assert refusal(answer)[:2] == (-32000, "LIMIT_REACHED")
    assert len((await plan_of(on_either, plan))["tasks"]) == 49
    params = {"objectiveId": objective["id"], "name": "x", "tasks": [{"name": "x"}] * 51}
    assert refusal(await opt(on_either, "plans/create", **params))[:2] == (-32000, "LIMIT_REACHED")
    assert len((await objective_of(on_either, objective))["plans"]) == 1
    for _ in range(9):
        await new_plan(on_either, objective)
    answer = await opt(on_either, "plans/create", objectiveId=objective["id"], name="x")
    assert refusal(answer)[:2] == (-32000, "LIMIT_REACHED")
    assert len((await objective_of(on_either, objective))["plans"]) == 10


@requirement("S1.x.opt.limits")
async def test_the_limits_hold_for_many_at_once(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    params = {"objectiveId": objective["id"], "name": "x", "tasks": [{"name": "x"}] * 2}
    answers = await asyncio.gather(*[opt(on_either, "plans/create", **params) for _ in range(14)])
    assert sorted("result" in answer for answer in answers) == [False] * 4 + [True] * 10
    (plan, *_) = (await objective_of(on_either, objective))["plans"]
    more = [opt(on_either, "plans/addTasks", id=plan["id"], tasks=[{"name": "y"}] * 10) for _ in range(8)]
    assert sum("result" in answer for answer in await asyncio.gather(*more)) == 4
    grown = (await plan_of(on_either, plan))["tasks"]
    assert [task["taskIndex"] for task in grown] == list(range(42))


@requirement("S1.x.opt.limits")
async def test_the_limits_of_the_settings_are_kept(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(opt=A2aOptSettings(max_plans_per_objective=1, max_tasks_per_plan=60)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        objective = await new_objective(client)
        plan = await new_plan(client, objective, *[f"task {n}" for n in range(60)])
        assert len(plan["tasks"]) == 60
        answer = await opt(client, "plans/create", objectiveId=objective["id"], name="x")
        assert refusal(answer)[:2] == (-32000, "LIMIT_REACHED")


@requirement("S1.x.opt.graph", "S1.x.opt.limits")
async def test_unknown_dependencies_and_circles_are_refused_whole(client: httpx.AsyncClient) -> None:
    objective, other = await new_objective(client), await new_objective(client)
    elsewhere = (await new_plan(client, other, "elsewhere"))["tasks"][0]["id"]
    foreign = (await client.post("/api/tasks", json={"title": "not of a plan"})).json()["task"]["id"]
    for wrong in (["task-1"], ["task-7"], ["nothing"], [elsewhere], [foreign], ["task-0", "nothing"]):
        tasks = [{"name": "a"}, {"name": "b", "dependencies": wrong}]
        answer = await opt(client, "plans/create", objectiveId=objective["id"], name="x", tasks=tasks)
        assert refusal(answer)[::2] == (-32602, "dependencies"), wrong
    circle = [{"name": "a", "dependencies": ["task-1"]}, {"name": "b", "dependencies": ["task-0"]}]
    answer = await opt(client, "plans/create", objectiveId=objective["id"], name="x", tasks=circle)
    assert refusal(answer)[::2] == (-32602, "dependencies")
    unknown = await opt(client, "plans/create", objectiveId=objective["id"], name="x", dependencies=["nothing"])
    assert refusal(unknown)[::2] == (-32602, "dependencies")
    assert (await objective_of(client, objective))["plans"] == []
    assert [task["title"] for task in (await client.get("/api/tasks")).json()["tasks"]] == [
        "not of a plan",
        "elsewhere",
    ]


@requirement("S1.opt.run", "S1.x.opt.graph", "S1.opt.cascade")
async def test_a_working_plan_runs_its_tasks_in_order_and_side_by_side(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    objective = await new_objective(on_either)
    after = {"name": "after", "dependencies": ["task-0", "task-1"]}
    plan = await new_plan(on_either, objective, "a\nhold one", "b\nhold two", after)
    working = await begin(on_either, plan)
    assert (working["status"], statuses(working)) == ("working", ["working", "working", "pending"])
    assert (await objective_of(on_either, objective))["status"] == "working"
    await either_server.agent.reached("one")
    await either_server.agent.reached("two")
    either_server.agent.release("one")
    await until_tasks(on_either, plan, "completed", "working", "pending")
    either_server.agent.release("two")
    finished = await until_plan(on_either, plan, "completed")
    assert statuses(finished) == ["completed"] * 3
    assert (await until_objective(on_either, objective, "completed"))["plans"] == [finished]
    for task in finished["tasks"]:
        # A tool of the run says that its task is done; the run itself ends afterwards.
        await either_server.settled(task["a2aTaskId"])
        run = await get(on_either, {"id": task["a2aTaskId"]})
        assert (state(run), run["contextId"]) == (COMPLETED, objective["id"])
        assert run["metadata"]["sessionKey"] == f"agent:main:task:{task['id']}"


@requirement("S1.opt.run", "S1.opt.cascade")
async def test_a_failed_task_fails_its_plan_and_its_objective(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    plan = await new_plan(on_either, objective, "a\nfail for good", {"name": "b", "dependencies": ["task-0"]})
    await begin(on_either, plan)
    failed = await until_plan(on_either, plan, "failed")
    assert (statuses(failed), failed["tasks"][0]["metadata"]) == (["failed", "pending"], {"failed": True})
    assert (await until_objective(on_either, objective, "failed"))["status"] == "failed"


@requirement("S1.opt.cascade", "S1.opt.methods")
async def test_the_status_of_tasks_takes_effect_on_plan_and_objective_at_once(client: httpx.AsyncClient) -> None:
    objective = await new_objective(client)
    plan = await new_plan(client, objective, "a", "b")
    other = await new_plan(client, objective, "c")
    a, b = plan["tasks"]
    working = await set_status(client, a, "working")
    assert [working[name]["status"] for name in ("task", "plan", "objective")] == ["working", "pending", "submitted"]
    assert (await set_status(client, a, "completed"))["plan"]["status"] == "pending"
    ended = await set_status(client, b, "completed")
    assert [ended[name]["status"] for name in ("task", "plan", "objective")] == ["completed", "completed", "submitted"]
    assert ended["plan"]["tasks"][0]["status"] == "completed"
    (c,) = other["tasks"]
    whole = await set_status(client, c, "completed")
    assert [whole[name]["status"] for name in ("task", "plan", "objective")] == ["completed"] * 3
    again = await opt(client, "tasks/updateStatus", id=c["id"], status="working")
    assert refusal(again)[:2] == (-32000, "INVALID_TRANSITION")


@requirement("S1.opt.cascade", "S1.opt.methods")
async def test_a_blocked_or_failed_task_blocks_or_fails_its_plan(server: HttpServer, client: httpx.AsyncClient) -> None:
    objective = await new_objective(client)
    plan = await begin(client, await new_plan(client, objective, "a\nhold one"))
    (task,) = plan["tasks"]
    await server.agent.reached("one")
    blocked = await set_status(client, task, "blocked")
    assert [blocked[name]["status"] for name in ("task", "plan", "objective")] == ["blocked"] * 3
    board = (await client.get(f"/api/tasks/{task['id']}")).json()["task"]
    assert board["blockedReason"] == "not given"
    failed = await set_status(client, task, "failed")
    assert [failed[name]["status"] for name in ("task", "plan", "objective")] == ["failed"] * 3
    canceled = await set_status(client, task, "canceled")
    assert canceled["task"]["status"] == "canceled"


async def test_a_status_that_a_client_sets_tells_the_agent_nothing(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    plan = await new_plan(client, await new_objective(client), "a")
    for status in ("pending", "working", "working", "blocked", "pending", "working", "failed", "working", "completed"):
        assert (await set_status(client, plan["tasks"][0], status))["task"]["status"] == status
    assert "a2aTaskId" not in (await plan_of(client, plan))["tasks"][0]
    assert (server.agent.bodies, (await client.get("/api/runs")).json()["runs"]) == ([], [])


@requirement("S1.opt.cascade")
async def test_a_task_that_waits_for_input_blocks_its_plan_until_it_is_answered(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    plan = await begin(on_either, await new_plan(on_either, objective, "a\nask which colour?"))
    blocked = await until_plan(on_either, plan, "blocked")
    assert (await until_objective(on_either, objective, "blocked"))["status"] == "blocked"
    run = await get(on_either, {"id": blocked["tasks"][0]["a2aTaskId"]})
    assert (state(run), text_of(run)) == ("TASK_STATE_INPUT_REQUIRED", "which colour?")
    answered = await send(on_either, "green", taskId=run["id"])
    assert (state(answered), answered["id"]) == (COMPLETED, run["id"])
    assert statuses(await until_plan(on_either, plan, "completed")) == ["completed"]
    await until_objective(on_either, objective, "completed")


@requirement("S1.opt.cancel")
async def test_canceling_an_objective_ends_its_plans_and_their_runs(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    objective = await new_objective(on_either)
    working = await begin(on_either, await new_plan(on_either, objective, "a\nhold one"))
    asking = await begin(on_either, await new_plan(on_either, objective, "a\nask what?"))
    pending = await new_plan(on_either, objective, "later")
    await either_server.agent.reached("one")
    await until_plan(on_either, asking, "blocked")
    ended = await done(on_either, "objectives/update", id=objective["id"], status="canceled")
    assert ended["objective"]["status"] == "canceled"
    assert [plan["status"] for plan in ended["objective"]["plans"]] == ["failed", "skipped", "skipped"]
    for plan in (working, asking):
        run = {"id": (await plan_of(on_either, plan))["tasks"][0]["a2aTaskId"]}
        await until(partial(get, on_either, run), lambda found: state(found) == "TASK_STATE_CANCELED")
    assert (await plan_of(on_either, pending))["status"] == "skipped"
    assert (await objective_of(on_either, objective))["status"] == "canceled"


@requirement("S1.opt.plantask", "S1.opt.methods", "S1.opt.cascade")
async def test_a_linked_run_is_the_plan_tasks_newest_and_ends_it(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    objective = await new_objective(on_either)
    plan = await new_plan(on_either, objective, "a", "b", "c")
    a, b, c = plan["tasks"]
    ended = await send(on_either, "hello", contextId=objective["id"])
    linked = (await done(on_either, "tasks/link", planTaskId=a["id"], a2aTaskId=ended["id"]))["task"]
    assert (linked["a2aTaskId"], linked["status"]) == (ended["id"], "completed")
    running = await send(on_either, "hold one", contextId=objective["id"], at_once=True)
    await either_server.agent.reached("one")
    linked = (await done(on_either, "tasks/link", planTaskId=b["id"], a2aTaskId=running["id"]))["task"]
    assert (linked["a2aTaskId"], linked["status"]) == (running["id"], "working")
    assert linked == (await done(on_either, "tasks/link", planTaskId=b["id"], a2aTaskId=running["id"]))["task"]
    other = await opt(on_either, "tasks/link", planTaskId=c["id"], a2aTaskId=running["id"])
    assert refusal(other)[:2] == (-32000, "CONFLICT")
    assert statuses(await plan_of(on_either, plan)) == ["completed", "working", "pending"]
    either_server.agent.release("one")
    await until(
        lambda: plan_of(on_either, plan), lambda found: statuses(found) == ["completed", "completed", "pending"]
    )
    broken = await send(on_either, "fail for good")
    failed = (await done(on_either, "tasks/link", planTaskId=c["id"], a2aTaskId=broken["id"]))["task"]
    assert failed["status"] == "failed"
    assert (await objective_of(on_either, objective))["status"] == "failed"
    again = await send(on_either, "hello")
    repaired = (await done(on_either, "tasks/link", planTaskId=c["id"], a2aTaskId=again["id"]))["task"]
    assert (repaired["status"], repaired["a2aTaskId"]) == ("completed", again["id"])
    (skipped,) = (await new_plan(on_either, await new_objective(on_either), "d"))["tasks"]
    await set_status(on_either, skipped, "canceled")
    late = await opt(on_either, "tasks/link", planTaskId=skipped["id"], a2aTaskId=(await send(on_either, "x"))["id"])
    assert refusal(late)[:2] == (-32000, "INVALID_TRANSITION")


async def test_a_run_that_a_plan_started_can_be_followed_canceled_and_pushed(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    plan = await begin(client, await new_plan(client, await new_objective(client), "a\nhold one"))
    run = plan["tasks"][0]["a2aTaskId"]
    await server.agent.reached("one")
    config = await ask(client, "CreateTaskPushNotificationConfig", taskId=run, url="https://93.184.216.34/")
    assert config["taskId"] == run
    async with subscribe(client, {"id": run}) as stream:
        assert state((await stream.next()).body) == WORKING
        server.agent.release("one")
        assert summary(await stream.rest()) == ["result", COMPLETED]
    asking = await begin(client, await new_plan(client, await new_objective(client), "a\nhold two"))
    await server.agent.reached("two")
    assert state(await ask(client, "CancelTask", id=asking["tasks"][0]["a2aTaskId"])) == "TASK_STATE_CANCELED"
    assert statuses(await until_plan(client, asking, "failed")) == ["failed"]

"""Ownership of objectives: to every caller but its maker an objective, its plans, tasks and runs do not exist."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import INPUT_REQUIRED, Json, call, get, message, refusal, send, state
from tests.surfaces.a2a.opt_calls import begin, done, new_objective, new_plan, objective_of, opt, until, until_plan

CONTEXT = "shared-context"


@asynccontextmanager
async def strangers(server: HttpServer, alice: httpx.AsyncClient) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """Callers other than alice: of her account another client and the owner, and the owner of another account."""
    async with server.client() as owner, server.client(server.other_owner) as other:
        token = await server.token(owner, kind="client", agentIds=["main"], name="alice")
        async with server.client(token) as bob:
            yield {"bob": bob, "owner": owner, "other": other}


def every_way(objective: Json, plan: Json, run: str) -> list[tuple[str, Json]]:
    task = plan["tasks"][0]["id"]
    return [
        ("objectives/get", {"id": objective["id"]}),
        ("objectives/update", {"id": objective["id"], "name": "taken"}),
        ("objectives/update", {"id": objective["id"], "status": "canceled"}),
        ("objectives/replan", {"id": objective["id"]}),
        ("plans/create", {"objectiveId": objective["id"], "name": "taken"}),
        ("plans/get", {"id": plan["id"]}),
        ("plans/update", {"id": plan["id"], "status": "skipped"}),
        ("plans/addTasks", {"id": plan["id"], "tasks": [{"name": "taken"}]}),
        ("tasks/updateStatus", {"id": task, "status": "completed"}),
        ("tasks/link", {"planTaskId": task, "a2aTaskId": run}),
        ("GetTask", {"id": run}),
        ("GetTask", {"id": run, "metadata": {"historyScope": "plan"}}),
        ("CancelTask", {"id": run}),
        ("SendMessage", {"message": message("mine", messageId="m-shared", taskId=run)}),
        ("SendMessage", {"message": message("mine", messageId="m-shared", metadata={"opt/v1/taskId": task})}),
        ("SendMessage", {"message": message("mine", messageId="m-shared", metadata={"opt/v1/taskId": run})}),
        (
            "SendMessage",
            {
                "message": message("mine", messageId="m-shared"),
                "metadata": {"opt/v1/objectiveId": objective["id"], "opt/v1/planId": plan["id"]},
            },
        ),
    ]


@requirement("S1.x.opt.owner")
async def test_nobody_but_its_maker_finds_an_objective_or_anything_of_it(
    server: HttpServer, alice: httpx.AsyncClient
) -> None:
    objective = await new_objective(alice, "secret", contextId=CONTEXT)
    plan = await begin(alice, await new_plan(alice, objective, "a\nask which?"))
    asked = await until_plan(alice, plan, "blocked")
    run = asked["tasks"][0]["a2aTaskId"]
    assert state(await get(alice, {"id": run})) == INPUT_REQUIRED
    stored = await objective_of(alice, objective)
    nothing: Json = {"id": "goal_01aaaaaaaaaaaaaaaaaaaaaaaa"}
    no_plan: Json = {"id": "plan_01aaaaaaaaaaaaaaaaaaaaaaaa", "tasks": [{"id": "task_01aaaaaaaaaaaaaaaaaaaaaaaa"}]}
    async with strangers(server, alice) as others:
        for name, stranger in others.items():
            # Everything that a stranger may choose is the same as alice's.
            await new_objective(stranger, "secret", contextId=CONTEXT)
            foreign = [await opt(stranger, method, **params) for method, params in every_way(objective, plan, run)]
            missing = every_way(nothing, no_plan, "run_01aaaaaaaaaaaaaaaaaaaaaaaa")
            unknown = [await opt(stranger, method, **params) for method, params in missing]
            assert foreign == unknown, name
            assert all("error" in answer for answer in foreign)
            listed = await done(stranger, "objectives/list")
            assert (listed["totalSize"], objective["id"] in str(listed)) == (1, False)
    assert await objective_of(alice, objective) == stored
    assert state(await get(alice, {"id": run})) == INPUT_REQUIRED


@requirement("S1.x.opt.owner")
async def test_the_same_caller_has_other_objectives_with_another_agent(client: httpx.AsyncClient) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    mine = await new_objective(client, contextId=CONTEXT)
    answer = await opt(client, "objectives/get", "writer", id=mine["id"])
    assert refusal(answer) == (-32000, "OBJECTIVE_NOT_FOUND", None)
    assert (await opt(client, "objectives/list", "writer"))["result"]["totalSize"] == 0


@requirement("S1.x.opt.owner", "S1.x.opt.codes")
async def test_a_run_of_another_caller_cannot_be_linked(
    server: HttpServer, alice: httpx.AsyncClient, bob: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    task = (await new_plan(alice, await new_objective(alice, contextId=CONTEXT), "a"))["tasks"][0]["id"]
    by_bob = await send(bob, "hello", contextId=CONTEXT)
    by_owner = (await client.post("/api/runs", json={"message": "hello"})).json()
    for run in (by_bob["id"], by_owner["runId"]):
        answer = await opt(alice, "tasks/link", planTaskId=task, a2aTaskId=run)
        assert refusal(answer) == (-32001, "TASK_NOT_FOUND", None)


@requirement("S1.x.opt.owner")
async def test_the_owner_sees_objectives_as_goals_and_plans(
    alice: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    objective = await new_objective(alice, "secret", contextId=CONTEXT)
    plan = await new_plan(alice, objective, "a")
    goal = (await client.get(f"/api/goals/{objective['id']}")).json()["goal"]
    assert (goal["name"], [one["id"] for one in goal["plans"]]) == ("secret", [plan["id"]])
    assert [(one["status"], [task["title"] for task in one["tasks"]]) for one in goal["plans"]] == [("ready", ["a"])]
    listed = (await client.get("/api/goals", params={"sessionId": goal["sessionId"]})).json()["goals"]
    assert [one["id"] for one in listed] == [objective["id"]]


async def test_a_private_chat_about_a_plan_task_is_not_read_by_the_plans_maker(
    server: HttpServer, alice: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    plan = await new_plan(alice, await new_objective(alice), "a")
    task = plan["tasks"][0]["id"]
    body = {"message": "between us", "taskId": task, "sessionKey": "agent:main:main"}
    run = (await client.post("/api/runs", json=body)).json()["runId"]
    found = await until(lambda: read(client, run), lambda one: one["state"] == "completed")
    assert found["taskId"] == task
    assert "a2aTaskId" not in (await done(alice, "plans/get", id=plan["id"]))["plan"]["tasks"][0]
    assert refusal(await call(alice, "GetTask", {"id": run}))[0] == -32001


async def test_the_run_of_another_agent_on_a_plan_task_is_not_read_by_the_plans_maker(
    server: HttpServer, alice: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    await client.post("/api/agents", json={"id": "writer"})
    plan = await begin(alice, await new_plan(alice, await new_objective(alice), "a\nhold one"))
    await server.agent.reached("one")
    (task,) = (await done(alice, "plans/get", id=plan["id"]))["plan"]["tasks"]
    body = {"message": "between us", "taskId": task["id"], "sessionKey": f"agent:writer:task:{task['id']}"}
    told = (await client.post("/api/runs", json=body)).json()["runId"]
    await until(lambda: read(client, told), lambda one: one["state"] == "completed")
    (again,) = (await done(alice, "plans/get", id=plan["id"]))["plan"]["tasks"]
    # The agent of the plan may have been told of it, in a run of its own.
    assert again["a2aTaskId"] != told
    shown = await done(alice, "GetTask", id=task["a2aTaskId"], metadata={"historyScope": "objective"})
    assert told not in {one["taskId"] for one in shown["history"]}
    assert refusal(await call(alice, "GetTask", {"id": told}))[0] == -32001


async def read(client: httpx.AsyncClient, run: str) -> Json:
    found: Json = (await client.get(f"/api/runs/{run}")).json()["run"]
    return found

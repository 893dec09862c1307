"""Short calls of OPT for tests: objectives, plans and plan tasks over JSON-RPC."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.surfaces.a2a.a2a_calls import WAIT_SECONDS_MAX, Json

OPT = "https://github.com/zeroasterisk/a2a-opt/v1"
ACTIVE = {"A2A-Extensions": OPT}
METHODS: dict[str, Json] = {
    "objectives/create": {"name": "x"},
    "objectives/get": {"id": "x"},
    "objectives/list": {},
    "objectives/update": {"id": "x"},
    "objectives/replan": {"id": "x"},
    "plans/create": {"objectiveId": "x", "name": "x"},
    "plans/get": {"id": "x"},
    "plans/update": {"id": "x"},
    "plans/addTasks": {"id": "x", "tasks": [{"name": "x"}]},
    "tasks/link": {"planTaskId": "x", "a2aTaskId": "x"},
    "tasks/updateStatus": {"id": "x", "status": "working"},
}


async def opt(client: httpx.AsyncClient, method: str, agent: str = "main", /, **params: Any) -> Json:
    """Call a method with the extension activated; return the response, a result or an error."""
    body = {"jsonrpc": "2.0", "id": "call-1", "method": method, "params": params}
    answer = await client.post(f"/a2a/{agent}", json=body, headers=ACTIVE)
    assert (answer.status_code, answer.headers["a2a-extensions"]) == (200, OPT), answer.text
    response: Json = answer.json()
    return response


async def done(client: httpx.AsyncClient, method: str, /, **params: Any) -> Json:
    """Return the result of a call that must succeed."""
    response = await opt(client, method, **params)
    assert "error" not in response, response
    result: Json = response["result"]
    return result


async def new_objective(client: httpx.AsyncClient, name: str = "Ship it", /, **more: Any) -> Json:
    """Create an objective."""
    objective: Json = (await done(client, "objectives/create", name=name, **more))["objective"]
    return objective


async def new_plan(client: httpx.AsyncClient, objective: Json, *tasks: Any, **more: Any) -> Json:
    """Create a plan; a task is a name, or its fields."""
    listed = [task if isinstance(task, dict) else {"name": task} for task in tasks]
    params = {"objectiveId": objective["id"], "name": "First plan", "tasks": listed} | more
    plan: Json = (await done(client, "plans/create", **params))["plan"]
    return plan


async def begin(client: httpx.AsyncClient, plan: Json) -> Json:
    """Move a plan to working."""
    begun: Json = (await done(client, "plans/update", id=plan["id"], status="working"))["plan"]
    return begun


async def set_status(client: httpx.AsyncClient, task: Json, status: str) -> Json:
    """Set the status of a plan task; return the task, the plan and the objective."""
    return await done(client, "tasks/updateStatus", id=task["id"], status=status)


async def objective_of(client: httpx.AsyncClient, objective: Json) -> Json:
    """Read an objective."""
    found: Json = (await done(client, "objectives/get", id=objective["id"]))["objective"]
    return found


async def plan_of(client: httpx.AsyncClient, plan: Json) -> Json:
    """Read a plan."""
    found: Json = (await done(client, "plans/get", id=plan["id"]))["plan"]
    return found


async def until(read: Callable[[], Awaitable[Json]], is_so: Callable[[Json], bool]) -> Json:
    """Read until something is so."""
    found: Json = {}
    try:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while not is_so(found := await read()):
                pass
    except TimeoutError:
        raise AssertionError(f"never so; in the end: {found}") from None
    return found


async def until_plan(client: httpx.AsyncClient, plan: Json, status: str) -> Json:
    """Read a plan until it has that status."""
    return await until(lambda: plan_of(client, plan), lambda found: found["status"] == status)


async def until_objective(client: httpx.AsyncClient, objective: Json, status: str) -> Json:
    """Read an objective until it has that status."""
    return await until(lambda: objective_of(client, objective), lambda found: found["status"] == status)

"""A plan run by a whole server: in order, with what the goal remembers, also when the server is killed on the way."""

import pytest

from carrel.goals import Goal, Plan, PlannedTask, approve_plan, draft_plan, find_goal, make_goal, set_plan
from carrel.kernel import SessionKey
from carrel.storage import Tx
from tests.harness.server import Server, gateways_to, open_server
from tests.memory.places import Notebook
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, Request, ScriptedGateway, text

pytestmark = pytest.mark.anyio
CHAT = SessionKey.of("main", "web:chat-0001")
TASKS = (
    PlannedTask(title="Buy paint"),
    PlannedTask(title="Paint it", dependencies=("task-0",)),
    PlannedTask(title="Sell it", dependencies=("task-1",)),
)


async def planned(server: Server) -> tuple[Goal, Plan]:
    """A goal with a plan that is ready."""

    def work(tx: Tx) -> tuple[Goal, Plan]:
        goal = make_goal(tx, server.access, CHAT, name="Sell the fence")
        plan = draft_plan(tx, server.access, CHAT, goal=goal)
        return goal, set_plan(tx, server.access, plan.id, tasks=TASKS)

    return await server.db.write(work)


async def completed(server: Server, goal: Goal) -> None:
    """Return once the goal is completed."""
    await server.until(lambda tx: find_goal(tx, server.access, goal.id).status == "completed")


def said(request: Request) -> str:
    """Return the texts of a request's input."""
    return "\n".join(part["text"] for item in request.json["input"] for part in item["content"])


def titles(gateway: ScriptedGateway) -> list[str]:
    """Return which task every request was about."""
    return [task.title for request in gateway.requests for task in TASKS if f": {task.title}\n" in said(request)]


@requirement("S1.opt.run", "S3.scope.identity", "S3.scope.chain.goal")
async def test_a_server_runs_a_plan_in_order_and_shows_each_task_what_its_goal_keeps(
    store_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(store_url, gateways_to(gateway)) as server:
        goal, plan = await planned(server)
        await Notebook(server).keep("The paint is red", f"goal:web:chat-0001:{goal.id}", type="decision")
        gateway.rule = lambda _: text("Done.")
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        await completed(server, goal)
    assert titles(gateway) == [task.title for task in TASKS]
    assert all("- [goal] The paint is red" in said(request) for request in gateway.requests)


@requirement("S1.opt.run")
async def test_a_server_that_is_killed_while_a_task_runs_finishes_the_plan_after_its_start(
    store_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(store_url, gateways_to(gateway)) as server:
        goal, plan = await planned(server)
        asked = Gate()
        gateway.script(text("Done."), text("Done.", before=asked))
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        await asked.reached()
        await server.kill()
        gateway.rule = lambda _: text("Done.")
        await server.let_leases_end()
        server.start()
        await completed(server, goal)
    assert list(dict.fromkeys(titles(gateway))) == [task.title for task in TASKS]

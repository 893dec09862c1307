"""A plan run by a whole server: in order, with what the goal remembers, also when the server is killed on the way."""

from typing import Any

import pytest
from msgspec import structs

from carrel.agents import BehaviorFlags
from carrel.delivery.receipts import receipt_of
from carrel.goals import Goal, Plan, PlanChange, PlannedTask, approve_plan, draft_plan, find_goal, make_goal, set_plan
from carrel.goals.plans import change_plan
from carrel.goals.store import notes_of_plan
from carrel.kernel import Access, Refusal, SessionKey
from carrel.kernel.settings import GatewaySettings
from carrel.sessions import make_lane
from carrel.storage import Tx
from carrel.work import Task, post_message, tasks_planned
from tests.delivery.tasks import set_agent
from tests.harness.server import Server, gateways_to, open_server
from tests.memory.places import Notebook
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, Request, ScriptedGateway, calls, text
from tests.sdk_agent import SdkAgent, Turn

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


async def statuses(server: Server, plan: Plan) -> list[str]:
    """Return the statuses of a plan's tasks."""
    return [task.status for task in await server.read(lambda tx: tasks_planned(tx, server.access, plan_id=plan.id))]


def said(request: Request) -> str:
    """Return the texts of a request's input."""
    return "\n".join(part["text"] for item in request.json["input"] for part in item.get("content", ()))


def finishing(request: Request) -> Any:
    """Say with task_status that the task is done, and then what came of it."""
    if request.json["input"][-1].get("type") == "function_call_output":
        return text("Done.")
    return calls(("task_status", {"taskId": request.json["metadata"]["taskId"], "status": "done"}))


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
        gateway.rule = finishing
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        await completed(server, goal)
    assert list(dict.fromkeys(titles(gateway))) == [task.title for task in TASKS]
    assert all("- [goal] The paint is red" in said(request) for request in gateway.requests)


@requirement("A.depend")
async def test_a_run_of_a_plan_is_told_goal_plan_and_the_results_of_what_its_task_depends_on(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        goal, plan = await planned(server)
        change = PlanChange(markdown="Red, then sell.", title="The fence")
        await server.db.write(lambda tx: change_plan(tx, server.access, plan.id, change, server.rules))
        gateway.rule = finishing
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        await completed(server, goal)
        first, second, third = await server.read(lambda tx: tasks_planned(tx, server.access, plan_id=plan.id))
    told = {request.json["metadata"]["taskId"]: said(request) for request in gateway.requests}
    for task in (first, second, third):
        assert "Goal: Sell the fence\nPlan: The fence\nWhat the plan says:\n  Red, then sell.\n" in told[task.id]
    assert "- Buy paint (done)\n- Paint it (yours)\n- Sell it (inbox)\n" in told[second.id]
    result = f"Result of Buy paint (more: task_history with taskId {first.id}):\n  Done."
    assert [result in told[task.id] for task in (first, second, third)] == [False, True, False]
    assert f"Result of Paint it (more: task_history with taskId {second.id}):\n  Done." in told[third.id]


async def begun_in_private(server: Server, person: Access) -> Task:
    """Start on a plan of one task, which a person has made and approved in a chat of theirs; return the task."""

    def work(tx: Tx) -> Plan:
        make_lane(tx, person, CHAT)
        plan = draft_plan(tx, person, CHAT, title="Swordfish", goal=make_goal(tx, person, CHAT, name="Swordfish"))
        return set_plan(tx, person, plan.id, tasks=TASKS[:1])

    plan = await server.db.write(work)
    server.start()
    await server.db.write(lambda tx: approve_plan(tx, person, plan.id, server.rules))
    (task,) = await server.read(lambda tx: tasks_planned(tx, server.access, plan_id=plan.id))
    return task


@requirement("A.depend", "I.chain.lane")
async def test_a_plan_of_anothers_chat_is_not_told_and_its_receipts_are_for_who_may_read_the_chat(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        ann, bob = (structs.replace(server.access, kind="user", actor_id=name, name=name) for name in ("ann", "bob"))

        gateway.rule = lambda _: text("Not yet.")
        task = await begun_in_private(server, ann)
        key = SessionKey.of("main", f"task:{task.id}")
        own = await server.settled((await server.runs(key))[-1])
        await server.db.write(lambda tx: post_message(tx, bob, task.id, "@main how far?", server.rules))
        bobs = await server.settled((await server.runs(key))[-1])
        assert ["Swordfish" in said(request) for request in gateway.requests] == [True, False]
        assert "Plan: Swordfish" in str((await server.read(lambda tx: receipt_of(tx, ann, own))).steps[0].input)
        with pytest.raises(Refusal):
            await server.read(lambda tx: receipt_of(tx, bob, own))
        assert (await server.read(lambda tx: receipt_of(tx, bob, bobs))).steps


@requirement("A.depend", "I.chain.lane")
async def test_a_plan_of_anothers_chat_is_not_told_by_way_of_another_agent(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        await server.make_agent("writer")
        ann, bob = (structs.replace(server.access, kind="user", actor_id=name, name=name) for name in ("ann", "bob"))

        gateway.rule = lambda _: text("Not yet.")
        task = await begun_in_private(server, ann)
        key = SessionKey.of("main", f"task:{task.id}")
        await server.settled((await server.runs(key))[-1])
        await server.db.write(lambda tx: post_message(tx, bob, task.id, "@writer how far?", server.rules))
        heard = "SELECT 1 FROM runs WHERE account_id = :account AND key = :key AND actor_id = 'writer' AND state = :end"
        await server.until(lambda tx: tx.one(heard, server.access, key=str(key), end="completed") is not None)
    of_main = [request for request in gateway.requests if "(agent main)" in request.json["instructions"]]
    assert ["Swordfish" in said(request) for request in of_main] == [True, False]


@requirement("A.done", "S1.opt.run")
async def test_an_agent_that_only_acknowledges_completes_nothing(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        goal, plan = await planned(server)
        gateway.rule = lambda _: text("Got it, I will start on this now.")
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        first, *_ = await server.read(lambda tx: tasks_planned(tx, server.access, plan_id=plan.id))
        run = await server.settled((await server.runs(SessionKey.of("main", f"task:{first.id}")))[0])
        assert run.reply == "Got it, I will start on this now."
        await server.until(lambda tx: not notes_of_plan(tx, server.access, plan.id))
        assert await statuses(server, plan) == ["in_progress", "inbox", "inbox"]
        assert (await server.read(lambda tx: find_goal(tx, server.access, goal.id))).status == "working"
    instructions = gateway.requests[0].json["instructions"]
    assert "set it to done with task_status: until you do, it stays in progress" in instructions
    assert "done is for" not in instructions


@requirement("A.done")
async def test_an_agent_without_task_status_says_by_its_answer_that_a_task_is_done(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        await set_agent(server, "main", behavior_flags=BehaviorFlags(can_modify_task_status=False))
        goal, plan = await planned(server)
        gateway.rule = lambda _: text("It is painted.")
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        await completed(server, goal)
    assert "Your answer is what says that the work is done" in gateway.requests[0].json["instructions"]


@requirement("A.done")
async def test_a_remote_agent_says_by_completing_its_own_task_that_a_task_is_done(sqlite_url: str) -> None:
    async def paint(turn: Turn) -> None:
        await turn.updater.complete(turn.words("Painted."))

    with SdkAgent(paint) as agent:
        async with open_server(sqlite_url, {"default": GatewaySettings(kind="a2a", base_url=agent.url)}) as server:
            goal, plan = await planned(server)
            server.start()
            await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
            await completed(server, goal)
            assert await statuses(server, plan) == ["done"] * 3


@requirement("S1.opt.run")
async def test_a_server_that_is_killed_while_a_task_runs_finishes_the_plan_after_its_start(
    store_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(store_url, gateways_to(gateway)) as server:
        goal, plan = await planned(server)
        asked = Gate()
        gateway.rule = lambda request: (
            text("Late.", before=asked) if "Paint it" in said(request) else finishing(request)
        )
        server.start()
        await server.db.write(lambda tx: approve_plan(tx, server.access, plan.id, server.rules))
        await asked.reached()
        await server.kill()
        gateway.rule = finishing
        await server.let_leases_end()
        server.start()
        await completed(server, goal)
    assert list(dict.fromkeys(titles(gateway))) == [task.title for task in TASKS]

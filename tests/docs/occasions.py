"""Requests of further kinds of runs, as a model was sent them: of the orchestrator, a plan, a tick and more."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from carrel.access import account_of
from carrel.goals import PlannedTask, approve_plan, draft_plan, make_goal, set_plan
from carrel.kernel import SessionKey
from carrel.modes import NewAutoRun, start_auto, stop_auto
from carrel.storage import Tx
from carrel.work import move_task, reopen_task
from tests.delivery.tasks import assign, make_task, notify, set_account
from tests.harness.engine import until_found
from tests.harness.server import HttpServer, open_http_server

Body = dict[str, Any]
WRITER, CHIEF = "writer", "chief"
CHAT = "web:chat-00000001"
TITLE, DESCRIPTION = "Prepare the yearly report", "Say what was sold in each region, and why."


async def collect(url: str) -> dict[str, Body]:
    """Let a server on the store at `url` make one run of each further kind; return what its model was sent."""
    async with open_http_server(url) as server:
        await server.make_agent(WRITER, description="Writes reports.")
        await server.make_agent(CHIEF)
        found = {}
        for title, occasion in OCCASIONS.items():
            found[title] = await occasion(server)
            # The next one finds everything as it will always be.
            await _rest(server)
        return found


async def _later(server: HttpServer) -> Body:
    await server.ask("Which region has sold most?", CHAT, agent=WRITER)
    await server.ask("And which least?", CHAT, agent=WRITER)
    return server.agent.bodies[-1]


async def _spawned(server: HttpServer) -> Body:
    await server.ask('do [["sessions_spawn", {"task": "Sum up the sales of May."}]]', agent=WRITER)
    return await _first(server, lambda body: ":subagent:" in body["user"])


async def _review(server: HttpServer) -> Body:
    task_id = await make_task(server, TITLE, description=DESCRIPTION)
    await assign(server, task_id, WRITER)
    for status in ("in_progress", "review"):
        await _rest(server)
        move = partial(move_task, access=server.access, task_id=task_id, to=status, rules=server.rules)
        await server.db.write(move)
    return await _first(server, lambda body: "You review this task" in body["instructions"])


async def _rest(server: HttpServer) -> None:
    """Return once no run works or waits to be worked on."""
    live = "SELECT 1 FROM runs WHERE account_id = :account AND state IN ('queued', 'running') LIMIT 1"
    await server.until(lambda tx: tx.one(live, server.access) is None)
    await server.indexed()


async def _reopened(server: HttpServer) -> Body:
    task_id = await make_task(server, TITLE, description=DESCRIPTION)
    await assign(server, task_id, WRITER)

    def work(tx: Tx) -> None:
        for status in ("in_progress", "review", "done"):
            move_task(tx, server.access, task_id, status, server.rules)
        reopen_task(tx, server.access, task_id)

    await server.db.write(work)
    await notify(server, task_id, "@writer the numbers of June are missing")
    return server.agent.bodies[-1]


async def _planned(server: HttpServer) -> Body:
    key = SessionKey.of(WRITER, CHAT)
    tasks = (PlannedTask(title="Collect the numbers"), PlannedTask(title="Write the text", dependencies=("task-0",)))

    def work(tx: Tx) -> None:
        goal = make_goal(tx, server.access, key, name="A report that everybody understands")
        plan = draft_plan(tx, server.access, key, goal=goal)
        plan = set_plan(tx, server.access, plan.id, markdown="First the numbers, then the text.", tasks=tasks)
        approve_plan(tx, server.access, plan.id, server.rules)

    await server.db.write(work)
    return await _first(server, lambda body: "Tasks of the plan" in str(body["input"][-1]))


async def _tick(server: HttpServer) -> Body:
    new = NewAutoRun(
        key=SessionKey.of(WRITER, "web:chat-00000003"), text="Watch the stock of paper.", interval_seconds=60
    )
    auto = await server.db.write(lambda tx: start_auto(tx, server.access, new, server.rules))
    body = await _first(server, lambda body: "00000003" in body["user"])
    await server.db.write(lambda tx: stop_auto(tx, server.access, auto_run_id=auto.id))
    return body


async def _orchestrator(server: HttpServer) -> Body:
    await set_account(server, orchestratorAgentId=CHIEF, briefing="We ship on Friday.")
    chat = await server.read(lambda tx: str(account_of(tx, server.access).settings["orchestratorChatTaskId"]))
    await notify(server, chat, "Who can write the report?")
    return server.agent.bodies[-1]


async def _first(server: HttpServer, is_wanted: Any) -> Body:
    async def found() -> list[Body]:
        return [body for body in server.agent.bodies if is_wanted(body)]

    return (await until_found(found, bool))[0]


OCCASIONS: dict[str, Callable[[HttpServer], Awaitable[Body]]] = {
    "A later message in a chat": _later,
    "The work of a sub-agent": _spawned,
    "A task that was reopened": _reopened,
    "A task of a plan": _planned,
    "A tick of an auto run": _tick,
    "The orchestrator's chat": _orchestrator,
    "A review": _review,
}

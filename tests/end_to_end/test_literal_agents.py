"""Agents that do literally what they are told: work ends where a person would expect, and nothing is called done."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from carrel.access import account_of
from carrel.agents import BehaviorFlags
from carrel.goals import PlannedTask, approve_plan, draft_plan, find_goal, make_goal, set_plan
from carrel.goals.store import PLANS_NOTED
from carrel.journal import entries_of_task
from carrel.kernel import SessionKey
from carrel.storage import Tx
from carrel.work import TaskFilter, assign_task, list_tasks, move_task, reopen_task, tasks_planned
from carrel.work.run_store import RUN_ENDS
from tests.delivery.tasks import assign, make_task, notify, post, set_account, set_agent
from tests.end_to_end.literal_agents import AGENTS, RESULT
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway

CHAT = SessionKey.of("main", "web:chat-0001")
# How often models may be asked until everything has come to rest.
REQUESTS_MAX = 20


@asynccontextmanager
async def working(url: str, gateway: ScriptedGateway, nature: str) -> AsyncIterator[Server]:
    """A server whose agents are all of one kind."""
    gateway.rule = AGENTS[nature]
    async with open_server(url, gateways_to(gateway)) as server:
        await server.make_agent("writer")
        yield server
    assert len(gateway.requests) <= REQUESTS_MAX


async def rest(server: Server) -> None:
    """Return once nothing works and nothing waits to be worked on."""

    def is_quiet(tx: Tx) -> bool:
        live = "SELECT 1 FROM runs WHERE account_id = :account AND state IN ('queued', 'running') LIMIT 1"
        return (
            tx.one(live, server.access) is None and RUN_ENDS.next_due(tx) is None and PLANS_NOTED.next_due(tx) is None
        )

    await server.until(is_quiet)


async def statuses(server: Server) -> list[str]:
    """Return the statuses of all tasks that are called The report."""
    found = await server.read(
        lambda tx: list_tasks(tx, server.access, TaskFilter(include_archived=True), before=None, limit=50)
    )
    return [task.status for task in found if task.title == "The report"]


async def thread(server: Server, task_id: str) -> list[str]:
    """Return what was said in a thread."""
    return [
        entry.content
        for entry in await server.read(
            partial(entries_of_task, access=server.access, task_id=task_id, view="thread", limit=50)
        )
    ]


@requirement("A.assign", "A.done")
@pytest.mark.parametrize(
    ("nature", "ends"),
    [("obedient", "review"), ("acknowledging", "in_progress"), ("silent", "review"), ("loose", "in_progress")],
)
async def test_an_assignment_ends_with_its_result_in_review_or_stays_in_progress(
    sqlite_url: str, gateway: ScriptedGateway, nature: str, ends: str
) -> None:
    async with working(sqlite_url, gateway, nature) as server:
        task_id = await make_task(server)
        await assign(server, task_id, "writer")
        await rest(server)
        assert await statuses(server) == [ends]
        assert (RESULT in await thread(server, task_id)) == (ends == "review")


@requirement("A.done")
@pytest.mark.parametrize(
    ("nature", "ends"),
    [("obedient", "done"), ("acknowledging", "in_progress"), ("silent", "done"), ("loose", "in_progress")],
)
async def test_a_review_by_the_orchestrator_accepts_what_is_there_and_nothing_else(
    sqlite_url: str, gateway: ScriptedGateway, nature: str, ends: str
) -> None:
    async with working(sqlite_url, gateway, nature) as server:
        await server.make_agent("chief")
        await set_account(server, orchestratorAgentId="chief")
        task_id = await make_task(server)
        await assign(server, task_id, "writer")
        await rest(server)
        assert await statuses(server) == [ends]
        reviews = [request for request in gateway.requests if "You review this task" in request.json["instructions"]]
        assert bool(reviews) == (ends == "done")
        assert all(RESULT in request.body.decode() for request in reviews), "a review sees what is reviewed"


@requirement("A.done")
@pytest.mark.parametrize(
    ("nature", "ends"),
    [("obedient", "done"), ("acknowledging", "review"), ("silent", "done"), ("loose", "review")],
)
@pytest.mark.parametrize("is_reviewer", [True, False])
async def test_whoever_is_mentioned_on_a_task_in_review_accepts_it_by_saying_so_and_not_otherwise(
    sqlite_url: str, gateway: ScriptedGateway, nature: str, ends: str, is_reviewer: bool
) -> None:
    async with working(sqlite_url, gateway, nature) as server:
        await server.make_agent("critic")
        flags = BehaviorFlags(can_review_tasks=is_reviewer, can_mark_done=True)
        await set_agent(server, "critic", behavior_flags=flags)
        task_id = await make_task(server)
        await server.db.write(
            lambda tx: assign_task(tx, server.access, task_id, server.rules, agent_ids=("writer",), quiet=True)
        )
        await server.db.write(lambda tx: move_task(tx, server.access, task_id, "review", server.rules, walk=True))
        await notify(server, task_id, "@critic please review this")
        await rest(server)
        assert await statuses(server) == [ends]
        asked = gateway.requests[0].json["instructions"]
        assert ("You review this task" in asked, "Where you are asked to review it" in asked) == (
            is_reviewer, not is_reviewer
        )  # fmt: skip


@requirement("A.done", "A.depend")
@pytest.mark.parametrize(
    ("nature", "ends", "of_goal"),
    [
        ("obedient", ["done", "done", "done"], "completed"),
        ("acknowledging", ["in_progress", "inbox", "inbox"], "working"),
        ("silent", ["done", "done", "done"], "completed"),
        ("loose", ["in_progress", "inbox", "inbox"], "working"),
    ],
)
async def test_a_plan_of_three_dependent_tasks_is_completed_by_work_alone(
    sqlite_url: str, gateway: ScriptedGateway, nature: str, ends: list[str], of_goal: str
) -> None:
    tasks = tuple(PlannedTask(title=f"Step {n}", dependencies=(f"task-{n - 1}",) if n else ()) for n in range(3))

    async with working(sqlite_url, gateway, nature) as server:

        def begin(tx: Tx) -> tuple[str, str]:
            goal = make_goal(tx, server.access, CHAT, name="Sell the fence")
            plan = set_plan(tx, server.access, draft_plan(tx, server.access, CHAT, goal=goal).id, tasks=tasks)
            approve_plan(tx, server.access, plan.id, server.rules)
            return goal.id, plan.id

        goal_id, plan_id = await server.db.write(begin)
        await rest(server)
        planned = await server.read(lambda tx: tasks_planned(tx, server.access, plan_id=plan_id))
        assert [task.status for task in planned] == ends
        assert (await server.read(lambda tx: find_goal(tx, server.access, goal_id))).status == of_goal


@requirement("A.done")
@pytest.mark.parametrize(
    ("nature", "answered"), [("obedient", True), ("acknowledging", False), ("silent", True), ("loose", False)]
)
async def test_a_reopened_task_is_worked_on_and_waits_for_its_review(
    sqlite_url: str, gateway: ScriptedGateway, nature: str, answered: bool
) -> None:
    async with working(sqlite_url, gateway, nature) as server:
        task_id = await make_task(server)
        await server.db.write(
            lambda tx: assign_task(tx, server.access, task_id, server.rules, agent_ids=("writer",), quiet=True)
        )
        await server.db.write(lambda tx: move_task(tx, server.access, task_id, "done", server.rules, walk=True))
        await server.db.write(lambda tx: reopen_task(tx, server.access, task_id))
        await notify(server, task_id, "@writer the numbers are missing")
        await rest(server)
        assert await statuses(server) == ["review"]
        assert (RESULT in await thread(server, task_id)) == answered
        assert "Reopened by owner at" in gateway.requests[0].body.decode()


@requirement("A.roster", "A.done")
@pytest.mark.parametrize(
    ("nature", "ends"), [("obedient", ["done"]), ("acknowledging", []), ("silent", ["done"]), ("loose", [])]
)
async def test_an_orchestrator_gives_work_to_its_team_and_accepts_it(
    sqlite_url: str, gateway: ScriptedGateway, nature: str, ends: list[str]
) -> None:
    async with working(sqlite_url, gateway, nature) as server:
        await set_account(server, orchestratorAgentId="main")
        account: Any = await server.read(lambda tx: account_of(tx, server.access))
        await post(server, account.settings["orchestratorChatTaskId"], "Have the report written.")
        await rest(server)
        assert await statuses(server) == ends

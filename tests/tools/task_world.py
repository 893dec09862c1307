"""Agents that work on tasks: a writer, a reviewer and the account's orchestrator, with the calls they make."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import structs

from carrel.agents import BehaviorFlags, agent_by_id, change_account
from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import Settings
from carrel.runs import Run
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.tools import (
    CATALOG,
    Caller,
    ToolServices,
    Toolset,
    call_tool,
    caller_at,
    lock_caller,
    prepare_call,
    toolset_for,
)
from carrel.work import NewTask, Task, create_task, post_message, readable_task
from tests.harness.engine import Engine, open_engine

Json = dict[str, Any]
_CALLS = itertools.count(1)


def person(access: Access) -> Access:
    """Return the owner of an account."""
    return structs.replace(access, kind="owner", actor_id="tok_owner", name="Olga")


class Seat:
    """An agent during a run, and the calls it makes there."""

    def __init__(self, world: "TaskWorld", run: Run, caller: Caller) -> None:
        self.world = world
        self.run = run
        self.caller = caller

    @property
    def toolset(self) -> Toolset:
        """The tools that are offered here."""
        return toolset_for(CATALOG, self.caller)

    @property
    def offered(self) -> set[str]:
        """The names of the tools for tasks that are offered here."""
        return {tool.name for tool in self.toolset.offered()} & TASK_TOOLS

    async def call(self, tool: str, call_id: str = "", **arguments: Any) -> Json:
        """Return what the model gets for a call, which is made as a turn makes it."""
        written, db, name = json.dumps(arguments), self.world.engine.db, call_id or f"1:{next(_CALLS)}"

        async with prepare_call(db, self.toolset, self.caller, tool, written) as prepared:

            def make(tx: Tx) -> str:
                lock_caller(tx, self.caller, prepared)
                return call_tool(tx, self.toolset, self.caller, name, tool, written, prepared)[0]

            answer: Json = json.loads(await db.write(make))
        return answer

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Return the code of the refusal of a call."""
        answer = await self.call(tool, **arguments)
        assert answer.get("ok") is False, answer
        return str(answer["error"]["code"])


TASK_TOOLS = {
    "task_history", "task_load", "task_status", "task_update", "task_create", "task_assign", "task_message",
    "task_list", "task_get", "task_thread", "task_search", "task_delete", "response_request",
}  # fmt: skip


class TaskWorld:
    """A store with agents, and verbs for tasks; `access` is the system's access to the account that is looked at."""

    def __init__(self, engine: Engine, access: Access) -> None:
        self.engine = engine
        self.access = access
        self.owner = person(access)

    async def furnish(self) -> None:
        """Make the agents: a writer with usual rights, a reviewer who may finish tasks, and an orchestrator."""
        finishes = BehaviorFlags(can_mark_done=True, can_review_tasks=True, can_create_tasks=True)
        await self.engine.make_agent("writer", self.access)
        await self.engine.make_agent("reviewer", self.access, behavior_flags=finishes)
        await self.engine.make_agent("chief", self.access)
        changes = {"orchestratorAgentId": "chief"}
        await self.engine.db.write(lambda tx: change_account(tx, self.owner, None, changes))

    async def task(self, title: str = "Paint the fence", **more: Any) -> Task:
        """Create a task as a person."""
        new = NewTask(title=title, **more)
        return await self.engine.db.write(lambda tx: create_task(tx, self.owner, new, self.engine.rules))

    async def stored(self, task_id: str) -> Task:
        """Return a task as it is stored now."""
        return await self.engine.read(lambda tx: readable_task(tx, self.owner, task_id)[0])

    async def say(self, task_id: str, text: str) -> None:
        """Write to a thread as a person."""
        await self.engine.db.write(lambda tx: post_message(tx, self.owner, task_id, text, self.engine.rules))

    async def seat(self, agent: str = "writer", task_id: str | None = None) -> Seat:
        """Return an agent in a run, on a task or in its main lane."""
        key = SessionKey.of(agent, "main" if task_id is None else f"task:{task_id}")
        run = await self.engine.say(key, "go on", access=self.owner)
        return Seat(self, run, await self.engine.read(lambda tx: self.caller_of(tx, run)))

    def caller_of(self, tx: Tx, run: Run) -> Caller:
        """Return the caller that a run is."""
        agent, lane = agent_by_id(tx, self.access, run.agent_id), lane_of(tx, self.access, run.session_key)
        assert agent is not None
        assert lane is not None
        access = structs.replace(run.access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id)
        services = ToolServices(settings=Settings(), rules=self.engine.rules)
        return caller_at(tx, services, access, agent, lane, run=run)

    async def counts(self) -> dict[str, int]:
        """Return how many rows everything has that a tool for tasks could write."""
        tables = ("tasks", "task_parties", "entries", "notices", "response_requests", "runs", "notifications")
        sql = "SELECT count(*), max(coalesce(seq, 0)) FROM tasks WHERE account_id = :account"

        def count(tx: Tx) -> dict[str, int]:
            found = {
                name: int((tx.one(f"SELECT count(*) FROM {name} WHERE account_id = :account", self.access) or (0,))[0])
                for name in tables
            }
            return found | {"newest change of a task": int((tx.one(sql, self.access) or (0, 0))[1] or 0)}

        return await self.engine.read(count)


@asynccontextmanager
async def open_world(url: str, **options: Any) -> AsyncIterator[TaskWorld]:
    """A furnished store."""
    async with open_engine(url, **options) as engine:
        world = TaskWorld(engine, engine.access)
        await world.furnish()
        yield world


async def twin_of(world: TaskWorld) -> TaskWorld:
    """Return another account of the same store with agents of the same names."""
    twin = TaskWorld(world.engine, await world.engine.another_account("twin"))
    await twin.furnish()
    return twin

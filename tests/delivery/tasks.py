"""Verbs on tasks for the tests of turns: what people do to them, and the runs that agents hear of it."""

import re
from typing import Any

from msgspec import structs

from carrel.agents import change_account, change_agent, require_agent
from carrel.kernel import Access, SessionKey
from carrel.runs import Run
from carrel.work import NewTask, Task, TaskChange, assign_task, change_task, create_task, post_message
from carrel.work.thread import Posted
from tests.harness.server import Server

# A moment as requests show it.
MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


async def make_task(server: Server, title: str = "The report", **more: Any) -> str:
    """Create a task as the owner; return its id."""
    new = NewTask(title=title, **more)
    made: Task = await server.db.write(lambda tx: create_task(tx, server.access, new, server.rules))
    return made.id


async def change(server: Server, task_id: str, **changes: Any) -> None:
    """Change a task as the owner."""
    wanted = TaskChange(**changes)
    await server.db.write(lambda tx: change_task(tx, server.access, task_id, wanted, server.rules))


async def assign(server: Server, task_id: str, *agents: str) -> Run:
    """Assign agents as the owner; return the first one's run once it has settled."""
    await server.db.write(lambda tx: assign_task(tx, server.access, task_id, server.rules, agent_ids=agents))
    return await server.settled((await server.runs(lane(server, agents[0], task_id)))[-1])


async def post(server: Server, task_id: str, text: str, access: Access | None = None) -> Posted:
    """Write to a thread, as the owner unless somebody else is named."""
    return await server.db.write(lambda tx: post_message(tx, access or server.access, task_id, text, server.rules))


async def notify(server: Server, task_id: str, text: str) -> Run:
    """Write to a thread; return the run of the first agent that is notified, once it has settled."""
    posted = await post(server, task_id, text)
    return await server.settled(next(one.run_id for one in posted.notified if one.run_id is not None))


def lane(server: Server, agent: str, task_id: str) -> SessionKey:
    """The lane in which an agent hears of a task."""
    return SessionKey.of(agent, f"task:{task_id}" if server.settings.sessions.task_scoped else "main")


async def set_account(server: Server, **settings: Any) -> None:
    """Change settings of the account."""
    await server.db.write(lambda tx: change_account(tx, server.access, None, settings))


async def set_agent(server: Server, agent_id: str, *, enabled: bool = True, **profile: Any) -> None:
    """Change the profile of an agent."""

    def work(tx: Any) -> None:
        agent = require_agent(tx, server.access, agent_id)
        changed = structs.replace(agent.profile, **profile)
        change_agent(tx, server.access, structs.replace(agent, profile=changed, enabled=enabled))

    await server.db.write(work)

"""The built-in agent works on tasks as a model would: it takes them up, answers in the thread, and moves them."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from carrel.agents import change_account
from carrel.kernel import SessionKey
from carrel.records import tools_called
from carrel.runs import Run
from carrel.storage import Tx
from carrel.work import NewTask, Task, create_task, post_message, read_thread, readable_task
from carrel.work.thread import Posted
from tests.harness.server import Server, open_server


class Board:
    """A server whose agents are played by the built-in one, and a person who works with them."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.rules = server.rules

    async def task(self, title: str = "Paint the fence", **more: Any) -> Task:
        """Create a task."""
        new = NewTask(title=title, **more)
        return await self.server.db.write(lambda tx: create_task(tx, self.server.access, new, self.rules))

    async def say(self, task_id: str, text: str) -> None:
        """Write to a thread, and wait until every agent that was told has ended."""
        posted: Posted = await self.server.db.write(
            lambda tx: post_message(tx, self.server.access, task_id, text, self.rules)
        )
        for told in posted.notified:
            if told.run_id is not None:
                await self.server.settled(told.run_id)

    async def ended(self, agent: str, task_id: str) -> Run:
        """Return the newest run of an agent on a task, once it has ended."""
        return await self.server.settled((await self.server.runs(SessionKey.of(agent, f"task:{task_id}")))[-1])

    async def thread(self, task_id: str) -> list[tuple[str, str]]:
        """Return who said what on a task."""
        thread = await self.server.read(lambda tx: read_thread(tx, self.server.access, task_id, limit=50))
        return [(message.author_id, message.content) for message in thread.messages]

    async def until(self, task_id: str, holds: Callable[[Task], bool]) -> None:
        """Wait until a task is as expected."""

        def look(tx: Tx) -> bool:
            return holds(readable_task(tx, self.server.access, task_id)[0])

        await self.server.until(look)


@pytest.fixture
async def builtin(store_url: str) -> AsyncIterator[Board]:
    """A server with a second agent."""
    async with open_server(store_url) as server:
        await server.make_agent("writer")
        yield Board(server)


async def test_an_assigned_task_is_read_answered_in_its_thread_and_taken_up(builtin: Board) -> None:
    task = await builtin.task(description="red, both sides", assigned_agent_ids=("writer",))
    run = await builtin.ended("writer", task.id)
    called = await builtin.server.read(lambda tx: tools_called(tx, builtin.server.access, run.id))
    ((author, said),) = await builtin.thread(task.id)
    assert (run.state, called, author) == ("completed", ["task_history"], "writer")
    assert "Paint the fence" in said
    await builtin.until(task.id, lambda task: task.status == "in_progress")


async def test_a_task_is_moved_when_a_person_says_so_and_only_then(builtin: Board) -> None:
    task = await builtin.task("mark this done", description="move the task to review", assigned_agent_ids=("writer",))
    await builtin.ended("writer", task.id)
    await builtin.until(task.id, lambda task: task.status == "in_progress")
    await builtin.say(task.id, "@writer mark this blocked: no paint")
    await builtin.until(task.id, lambda task: (task.status, task.blocked_reason) == ("blocked", "no paint"))
    await builtin.say(task.id, "@writer mark this in progress")
    await builtin.say(task.id, "@writer move the task to review")
    await builtin.until(task.id, lambda task: task.status == "review")
    await builtin.say(task.id, "@writer mark this done")
    assert "may not mark tasks as done" in (await builtin.thread(task.id))[-1][1]
    await builtin.until(task.id, lambda task: task.status == "review")


async def test_the_orchestrator_gives_work_to_others_when_a_person_says_so(builtin: Board) -> None:
    server = builtin.server
    changes = {"orchestratorAgentId": "main"}
    account = await server.db.write(lambda tx: change_account(tx, server.access, None, changes))
    chat, task = account.settings["orchestratorChatTaskId"], await builtin.task()
    await builtin.say(chat, "list tasks")
    assert task.id in (await builtin.thread(chat))[-1][1]
    await builtin.say(chat, f"assign {task.id} to writer")
    assert (await builtin.ended("writer", task.id)).state == "completed"
    await builtin.until(task.id, lambda task: task.status == "in_progress")
    await builtin.say(chat, "create task Oil the gate")
    assert "Oil the gate" in (await builtin.thread(chat))[-1][1]

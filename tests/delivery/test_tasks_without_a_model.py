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

pytestmark = pytest.mark.anyio


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
async def board(store_url: str) -> AsyncIterator[Board]:
    """A server with a second agent."""
    async with open_server(store_url) as server:
        await server.make_agent("writer")
        yield Board(server)


async def test_an_assigned_task_is_read_answered_in_its_thread_and_taken_up(board: Board) -> None:
    task = await board.task(description="red, both sides", assigned_agent_ids=("writer",))
    run = await board.ended("writer", task.id)
    called = await board.server.read(lambda tx: tools_called(tx, board.server.access, run.id))
    ((author, said),) = await board.thread(task.id)
    assert (run.state, called, author) == ("completed", ["task_history"], "writer")
    assert "Paint the fence" in said
    await board.until(task.id, lambda task: task.status == "in_progress")


async def test_a_task_is_moved_when_a_person_says_so_and_only_then(board: Board) -> None:
    task = await board.task("mark this done", description="move the task to review", assigned_agent_ids=("writer",))
    await board.ended("writer", task.id)
    await board.until(task.id, lambda task: task.status == "in_progress")
    await board.say(task.id, "@writer mark this blocked: no paint")
    await board.until(task.id, lambda task: (task.status, task.blocked_reason) == ("blocked", "no paint"))
    await board.say(task.id, "@writer mark this in progress")
    await board.say(task.id, "@writer move the task to review")
    await board.until(task.id, lambda task: task.status == "review")
    await board.say(task.id, "@writer mark this done")
    assert "may not mark tasks as done" in (await board.thread(task.id))[-1][1]
    await board.until(task.id, lambda task: task.status == "review")


async def test_the_orchestrator_gives_work_to_others_when_a_person_says_so(board: Board) -> None:
    server = board.server
    changes = {"orchestratorAgentId": "main"}
    account = await server.db.write(lambda tx: change_account(tx, server.access, None, changes))
    chat, task = account.settings["orchestratorChatTaskId"], await board.task()
    await board.say(chat, "list tasks")
    assert task.id in (await board.thread(chat))[-1][1]
    await board.say(chat, f"assign {task.id} to writer")
    assert (await board.ended("writer", task.id)).state == "completed"
    await board.until(task.id, lambda task: task.status == "in_progress")
    await board.say(chat, "create task Oil the gate")
    assert "Oil the gate" in (await board.thread(chat))[-1][1]

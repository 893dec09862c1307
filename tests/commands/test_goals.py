"""The commands /goal, /goals and /tasks: they act on the goals of their own session."""

from collections.abc import AsyncIterator

import pytest

from carrel.commands.model import CommandContext
from carrel.commands.table import read_command, run_command
from carrel.goals import Goal, goals_of_session
from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import Settings
from carrel.runs import Rules
from carrel.sessions import lane_of
from carrel.storage import Tx
from tests.goals.planner import CHAT, OTHER_CHAT, Planner, open_planner


class Chats(Planner):
    """A planner who types commands into chats."""

    async def type(self, text: str, key: SessionKey = CHAT, access: Access | None = None) -> str:
        """Send a command to a chat; return the reply."""
        parsed = read_command(text)
        assert parsed is not None

        def work(tx: Tx) -> str:
            lane = lane_of(tx, self.access, key)
            assert lane is not None
            context = CommandContext(lane=lane, settings=Settings(), rules=Rules(), channel="web")
            return run_command(tx, access or self.access, context, parsed).reply

        return await self.db.write(work)

    async def only_goal(self) -> Goal:
        """Return the one goal of the chat."""
        (goal,) = await self.read(lambda tx: goals_of_session(tx, self.access, CHAT, limit=9))
        return goal


@pytest.fixture
async def chats(store_url: str) -> AsyncIterator[Chats]:
    async with open_planner(store_url) as planner:
        opened = Chats(planner.db, planner.clock, planner.access, planner.rules)
        for key in (CHAT, OTHER_CHAT):
            await opened.cancel(await opened.say(key, "hello"))
        yield opened


async def test_a_goal_is_created_and_listed_in_its_own_session(chats: Chats) -> None:
    assert "no goals" in await chats.type("/goals")
    reply = await chats.type("/goal Open the garden\nbefore the summer")
    goal = await chats.only_goal()
    assert reply == f"Created {goal.id}: Open the garden"
    assert goal.description == "before the summer"
    assert await chats.type("/goals") == f"{goal.id}  submitted  Open the garden"
    assert "no goals" in await chats.type("/goals", OTHER_CHAT)
    assert (await chats.type("/goal")).startswith("/goal <text>")


async def test_a_goal_is_paused_resumed_completed_and_cancelled(chats: Chats) -> None:
    await chats.type("/goal Open the garden")
    goal = await chats.only_goal()
    plan = await chats.plan("paint", "sell<paint", goal=goal)
    await chats.approve(plan)
    held = (await chats.claimed())["paint"]
    assert "is blocked" in await chats.type(f"/goal pause {goal.id}")
    await chats.finish(held)
    assert (await chats.statuses(plan))["sell"] == "inbox", "nothing begins while it is paused"
    assert "(1 of 2 tasks done)" in await chats.type("/goals")
    assert (await chats.type("/tasks")).splitlines()[0].startswith("[x] task_")
    assert "is working" in await chats.type(f"/goal resume {goal.id}")
    assert set(await chats.claimed()) == {"sell"}
    assert "cannot become working" in await chats.type(f"/goal resume {goal.id}")
    assert "is cancelled" in await chats.type(f"/goal cancel {goal.id}")
    assert await chats.state(plan) == "failed"
    assert "cannot become completed" in await chats.type(f"/goal done {goal.id}")
    await chats.type("/goal Another")
    another = (await chats.read(lambda tx: goals_of_session(tx, chats.access, CHAT, limit=9)))[0]
    assert "is completed" in await chats.type(f"/goal done {another.id}")


async def test_a_goal_of_another_session_is_not_found(chats: Chats) -> None:
    goal = await chats.goal()
    for verb in ("done", "pause", "resume", "cancel"):
        assert "no such goal" in await chats.type(f"/goal {verb} {goal.id}", OTHER_CHAT)
    assert await chats.goal_state(goal) == "submitted"
    assert "No goal or plan" in await chats.type("/tasks", OTHER_CHAT)

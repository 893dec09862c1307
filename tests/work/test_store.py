"""Tasks under concurrency: a task is locked before its lanes, and nobody waits for a lock that they cannot get."""

import asyncio
import random
import threading

import pytest

from carrel.kernel import Refusal
from carrel.runs import Cancelled, Claim, ClaimLost
from carrel.sessions import Session
from carrel.storage import Tx
from carrel.work.store import hold_task
from tests.harness.engine import SECONDS_MAX, within
from tests.requirements.mark import requirement
from tests.work.desk import Desk, lane, open_desk


async def test_a_message_is_delivered_while_the_task_is_held(postgres_url: str) -> None:
    """A message locks its lane and then refers to the task; who holds the task may want the lane."""
    async with open_desk(postgres_url) as desk:
        task = await desk.create()
        inside, go_on = threading.Event(), threading.Event()

        def hold(tx: Tx) -> None:
            assert hold_task(tx, desk.access, task.id)
            inside.set()
            assert go_on.wait(SECONDS_MAX)

        holding = asyncio.ensure_future(desk.db.write(hold))
        assert await asyncio.to_thread(inside.wait, SECONDS_MAX)
        try:
            run = await within(desk.say(lane("writer", task), "hello"), 5)
        finally:
            go_on.set()
            await holding
        assert run.task_id == task.id


@requirement("S0.close.transaction", "S0.close.queued")
@pytest.mark.parametrize("seed", range(4))
async def test_done_races_with_messages_claims_and_ends(desk: Desk, seed: int) -> None:
    """Whatever the order: nothing is left queued for an update, no session is left open, no run is lost."""
    chance = random.Random(seed)
    task = await desk.create("writer", "critic")
    await desk.move(task, "in_progress", "review")
    await desk.work_off()

    async def hear_and_reply(held: Claim) -> None:
        try:
            if isinstance(await desk.admit(held), Session):
                await desk.reply(held)
        except ClaimLost:
            # It was claimed while the move was cancelling it, and is stopped before it is heard.
            await desk.end(held, Cancelled(reason="task_done"))

    async def work() -> None:
        for _ in range(6):
            for held in await desk.take(2):
                await hear_and_reply(held)
            await desk.handle_ends()

    async def speak(n: int) -> None:
        if n % 2:
            await desk.post(task, f"@writer line {n}" if n % 3 else f"line {n}")
        else:
            await desk.say(lane("writer", task), f"line {n}")

    jobs = [speak(n) for n in range(12)] + [work(), work(), desk.move(task, "done")]
    chance.shuffle(jobs)
    await within(asyncio.gather(*jobs))
    while taken := await desk.take(10):
        for held in taken:
            await hear_and_reply(held)
        await desk.handle_ends()
    assert (await desk.task(task)).status == "done"
    for agent in ("writer", "critic"):
        assert await desk.live(lane(agent, task)) == []
        assert await desk.depth(lane(agent, task)) == 0
        assert [one.closed_at for one in await desk.sessions(task, agent) if one.closed_at is None] == []


async def test_many_moves_at_once_make_one_move_each(desk: Desk) -> None:
    task = await desk.create("writer")

    async def move(to: str) -> bool:
        try:
            return (await desk.move(task, to, expected="assigned", reason="x")).changed
        except Refusal:
            return False

    moved = await asyncio.gather(*(move(to) for to in ["in_progress", "blocked"] * 5))
    assert moved.count(True) == 1


async def handle_and_move(desk: Desk) -> None:
    task = await desk.create("writer")
    held = await desk.take_one()
    await desk.admit(held)
    await desk.reply(held)
    await asyncio.gather(desk.handle_ends(), desk.move(task, "blocked", reason="x"), desk.handle_ends())
    assert (await desk.task(task)).status == "blocked"


@requirement("S0.work.autoadvance")
async def test_taking_up_an_answered_assignment_never_undoes_another_move(desk: Desk) -> None:
    for _ in range(5):
        await handle_and_move(desk)

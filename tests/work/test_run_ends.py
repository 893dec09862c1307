"""What the end of a run means for its task, handled once, also across a crash and by two servers."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest

from carrel.kernel import Code
from carrel.runs import Failed, deliver
from carrel.sessions import Session
from carrel.storage import Tx
from carrel.work import read_thread
from carrel.work.run_ends import run_end_duty
from tests.harness.engine import envelope, until_found
from tests.harness.wrapped_database import WrappedDatabase
from tests.requirements.mark import requirement
from tests.work.desk import ORCHESTRATOR, Desk, lane, open_desk

T = TypeVar("T")


async def messages(desk: Desk, task_id: str) -> list[tuple[str, str]]:
    thread = await desk.read(lambda tx: read_thread(tx, desk.access, task_id, limit=50))
    return [(message.author_id, message.content) for message in thread.messages]


@requirement("S0.work.autoadvance")
async def test_an_answered_assignment_moves_the_task_to_in_progress_if_it_is_still_assigned(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.answer_next()
    assert (await desk.task(task)).status == "in_progress"
    assert await desk.told(task) == []
    moved = await desk.create("writer")
    held = await desk.take_one()
    await desk.admit(held)
    await desk.move(moved, "blocked", reason="paint")
    await desk.reply(held)
    await desk.handle_ends()
    assert (await desk.task(moved)).status == "blocked"


async def test_an_assignment_that_fails_or_is_not_answered_moves_nothing(desk: Desk) -> None:
    task = await desk.create("writer", "critic")
    one, two = await desk.take(2)
    for held in (one, two):
        assert isinstance(await desk.admit(held), Session)
    await desk.end(one, Failed(code="no", message="no"))
    await desk.end(two)
    await desk.handle_ends()
    assert (await desk.task(task)).status == "assigned"


@requirement("S0.x.last.message", "S0.fanout.thread")
async def test_a_reply_is_spread_to_the_people_and_moves_last_message_at(desk: Desk) -> None:
    task = await desk.create("writer")
    assert task.last_message_at is None
    await desk.answer_next("done soon")
    assert (await desk.task(task)).last_message_at == desk.clock.now_ms()
    assert [note.type for note in await desk.mailbox()] == ["thread_update"]
    desk.advance(60)
    await desk.post(task, "thanks")
    assert (await desk.task(task)).last_message_at == desk.clock.now_ms()


@requirement("S0.x.loop")
async def test_two_agents_do_not_answer_each_other_for_ever(desk: Desk) -> None:
    await desk.coordinate()
    task = await desk.create("writer", "critic")
    await desk.work_off()
    await desk.post(task, "what do you all think?")
    rounds = 0
    while taken := await desk.take(10):
        for held in taken:
            assert isinstance(await desk.admit(held), Session)
            await desk.reply(held, f"I, {held.session_key.agent}, agree.")
        await desk.handle_ends()
        rounds += len(taken)
        assert rounds < 10
    assert rounds == 5, "each agent answered the person, and the assignees what the orchestrator said to that"


async def test_the_answer_to_an_assignment_does_not_wake_the_other_assignees(desk: Desk) -> None:
    task = await desk.create("writer", "critic")
    held = (await desk.take(1))[0]
    await desk.admit(held)
    await desk.reply(held)
    await desk.handle_ends()
    assert [kind for _, kind in await desk.told(task)] == ["assignment"]


@requirement("S0.x.reply.identity")
async def test_an_end_that_was_noted_before_a_crash_is_handled_after_it_exactly_once(store_url: str) -> None:
    async with open_desk(store_url) as desk:
        task = await desk.create("writer")
        held = await desk.take_one()
        await desk.admit(held)
        await desk.reply(held)
        task_id = task.id
    async with open_desk(store_url) as again:
        assert await again.handle_ends() == 1
        assert await again.handle_ends() == 0
        assert (await again.task(task_id)).status == "in_progress"
        assert await messages(again, task_id) == [("writer", "It is written.")]
        assert len(await again.mailbox()) == 1


async def test_two_servers_handle_an_end_once(desk: Desk) -> None:
    task = await desk.create("writer")
    held = await desk.take_one()
    await desk.admit(held)
    await desk.reply(held)
    duty = run_end_duty(desk.db, desk.rules)
    (end,) = await desk.read(lambda tx: duty.take(tx, 10))
    await asyncio.gather(*(duty.do(end) for _ in range(5)))
    assert len(await desk.mailbox()) == 1
    assert (await desk.task(task)).status == "in_progress"


class BrokenOnce(WrappedDatabase):
    """A store whose first write fails."""

    is_broken = True

    async def write(self, work: Callable[[Tx], T]) -> T:
        if self.is_broken:
            self.is_broken = False
            raise ValueError("broken")
        return await super().write(work)


async def test_an_end_that_cannot_be_handled_is_looked_at_again_later(desk: Desk) -> None:
    await desk.create("writer")
    held = await desk.take_one()
    await desk.admit(held)
    await desk.reply(held)
    duty = run_end_duty(BrokenOnce(desk.db), desk.rules)
    (end,) = await desk.read(lambda tx: duty.take(tx, 10))
    with pytest.raises(ValueError, match="broken"):
        await duty.do(end)
    assert await desk.handle_ends() == 0
    desk.advance(31)
    assert await desk.handle_ends() == 1


async def test_a_message_about_a_task_that_does_not_exist_is_refused(desk: Desk) -> None:
    sent = envelope(lane("writer", "none"), "hello")
    refused = desk.db.write(lambda tx: deliver(tx, desk.access, sent, desk.rules))
    assert await desk.refused(refused) == Code.NOT_FOUND


async def test_the_duty_wakes_by_itself(store_url: str) -> None:
    async with open_desk(store_url, real=True) as desk, asyncio.TaskGroup() as group:
        serving = group.create_task(run_end_duty(desk.db, desk.rules).serve())
        task = await desk.create("writer")
        held = await desk.take_one()
        await desk.admit(held)
        await desk.reply(held)
        await until_found(lambda: desk.task(task), lambda now: now.status == "in_progress")
        serving.cancel()


async def test_agents_hear_of_a_move_together_with_the_answer_of_the_run_that_made_it(desk: Desk) -> None:
    await desk.coordinate()
    task = await desk.create("writer")
    (held,) = await desk.take(10)
    await desk.admit(held)
    await desk.move(task, "review", access=desk.agent("writer", held))
    assert await desk.take(10) == [], "what is to be reviewed was not said yet"
    await desk.reply(held, "Here it is.")
    await desk.handle_ends()
    (review,) = await desk.take(10)
    assert (review.agent_id, (await desk.run(review.id)).source().type) == (ORCHESTRATOR, "status_change")

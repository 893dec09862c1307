"""A task in progress on which nobody works: it is taken up again, a bounded number of times, then it is a person's."""

import pytest
from msgspec import structs

from carrel.kernel.limits import STALL_PAUSES_MINUTES
from carrel.runs import Failed
from carrel.sessions import Session
from carrel.work import Task, explain_task
from carrel.work.stalls import stall_duty
from tests.requirements.mark import requirement
from tests.work.desk import Desk

STALLED = [("writer", "stalled")]


async def take_up(desk: Desk, minutes: float = 0) -> int:
    """Let time pass, then take up every stalled task that is due; return how many were."""
    desk.advance(round(minutes * 60))
    duty = stall_duty(desk.db, desk.rules)
    due = await desk.read(lambda tx: duty.take(tx, 100))
    for stall in due:
        await duty.do(stall)
    return len(due)


async def begun(desk: Desk, *agents: str) -> Task:
    """Return a task in progress whose agents have only said that they will begin."""
    task = await desk.create(*(agents or ("writer",)))
    while taken := await desk.take(10):
        for held in taken:
            assert isinstance(await desk.admit(held), Session)
            await desk.reply(held, "I will start on this now.")
        await desk.handle_ends()
    assert (await desk.task(task)).status == "in_progress"
    return task


async def why(desk: Desk, task: Task) -> tuple[str, str]:
    """Return why a task is not moving: the code and the sentence."""
    (reason,) = (await desk.read(lambda tx: explain_task(tx, desk.access, task.id))).reasons
    return reason.code, reason.text


@requirement("A.stalled")
async def test_a_task_is_taken_up_again_after_growing_pauses_and_then_left_to_people(desk: Desk) -> None:
    task = await begun(desk)
    for number, pause in enumerate(STALL_PAUSES_MINUTES):
        code, text = await why(desk, task)
        assert (code, ("first", "second", "third", "fourth")[number] in text) == ("waiting_retry", True)
        assert await take_up(desk, pause - 0.5) == 0
        assert (await take_up(desk, 0.5), await desk.told(task)) == (1, STALLED)
        run = await desk.answer_next("I am still at it.")
        assert f"Reminder {number + 1} of {len(STALL_PAUSES_MINUTES)}" in run.text
    assert (await take_up(desk, 24 * 60), await desk.told(task)) == (0, [])
    assert [note.title for note in await desk.mailbox()][-1] == "Stalled: Write the report"
    code, text = await why(desk, task)
    assert (code, "has stalled" in text) == ("waiting_input", True)


@requirement("A.stalled")
@pytest.mark.parametrize("status", ["review", "blocked", "done"])
async def test_a_task_that_was_moved_meanwhile_is_left_alone(desk: Desk, status: str) -> None:
    task = await begun(desk)
    path = ("review", "done") if status == "done" else (status,)
    await desk.move(task, *path, reason="paint")
    await desk.work_off()
    await take_up(desk, 2)
    assert await desk.told(task) == []


@requirement("A.stalled")
async def test_words_of_a_person_begin_the_count_anew(desk: Desk) -> None:
    task = await begun(desk)
    await take_up(desk, 1)
    await desk.answer_next("I am still at it.")
    await desk.post(task, "@writer How far are you?")
    await desk.answer_next("Half way.")
    assert (await take_up(desk, 1), await desk.told(task)) == (1, STALLED)


@requirement("A.stalled")
async def test_nothing_is_taken_up_while_somebody_works_or_waits(desk: Desk) -> None:
    task = await begun(desk)
    await desk.post(task, "@writer How far are you?")
    await take_up(desk, 2)
    assert await desk.told(task) == [("writer", "mention")]
    held = await desk.take_one()
    assert isinstance(await desk.admit(held), Session)
    await take_up(desk, 60)
    assert await desk.told(task) == []


@requirement("A.stalled")
async def test_nothing_is_taken_up_while_another_agent_is_asked(desk: Desk) -> None:
    task = await begun(desk)
    await desk.post(task, "@critic Is this good?")
    await take_up(desk, 2)
    assert ("writer", "stalled") not in await desk.told(task)


@requirement("A.stalled")
async def test_a_turn_that_fails_or_an_agent_that_is_disabled_is_not_asked_again(desk: Desk) -> None:
    task = await begun(desk)
    await desk.post(task, "@writer How far are you?")
    held = await desk.take_one()
    await desk.admit(held)
    await desk.end(held, Failed(code="no", message="no"))
    await desk.handle_ends()
    await take_up(desk, 2)
    assert await desk.told(task) == []
    other = await begun(desk)
    await desk.disable("writer")
    await take_up(desk, 2)
    assert await desk.told(other) == []


@requirement("A.stalled")
async def test_of_several_agents_the_one_that_spoke_last_goes_on(desk: Desk) -> None:
    task = await begun(desk, "critic", "writer")
    await desk.post(task, "@critic What do you say?")
    await desk.answer_next("It is a beginning.")
    assert await desk.told(task) == [("writer", "thread_update")]
    await desk.answer_next("I agree.")
    await take_up(desk, 1)
    assert await desk.told(task) == STALLED


@requirement("A.stalled", "I.run.both")
async def test_whoever_goes_on_sees_no_more_than_the_turn_it_goes_on_with(desk: Desk) -> None:
    ann = await desk.person("ann")
    limited = structs.replace(ann, space_ids=("space-default",))
    task = await begun(desk)
    await desk.post(task, "@writer How far are you?", limited)
    await desk.answer_next("Half way.")
    await take_up(desk, 1)
    run = await desk.answer_next()
    assert (run.behalf, run.spaces) == (ann.actor_id, ("space-default",))

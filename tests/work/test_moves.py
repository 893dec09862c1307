"""Moves: what they need, what they close and cancel, and what comes after a reopening."""

import json

import pytest

from carrel.kernel import Code, Refusal, SessionKey
from carrel.runs import Cancelled, NeedsInput, RunChanged
from carrel.sessions import Session, set_archived
from carrel.work import TaskChange, change_task, read_history, reopen_task, stop_task, task_briefing
from carrel.work.model import Task
from tests.harness.engine import events_of_run
from tests.requirements.mark import requirement
from tests.work.desk import Desk, lane


async def in_review(desk: Desk, *agents: str) -> Task:
    """Return a task in review on which everything that was to be told has been told."""
    task = await desk.create(*(agents or ("writer",)))
    await desk.work_off()
    await desk.move(task, "in_progress", "review")
    await desk.work_off()
    return await desk.task(task)


async def reopen(desk: Desk, task: Task) -> Task:
    return await desk.db.write(lambda tx: reopen_task(tx, desk.access, task.id))


@requirement("S0.close.done", "S0.close.transition.only")
async def test_done_closes_every_open_session_of_the_task_and_no_other(desk: Desk) -> None:
    task, other = await in_review(desk, "writer", "critic"), await desk.create("writer")
    await desk.work_off()
    moved = await desk.move(task, "done")
    assert moved.changed
    sessions = [(await desk.sessions(task, agent))[0] for agent in ("writer", "critic")]
    assert {session.closed_reason for session in sessions} == {"task_done"}
    assert set(moved.closed_sessions) == {session.id for session in sessions}
    assert (await desk.sessions(other))[0].closed_at is None
    (event,) = [event for event in await desk.events("task.moved") if json.loads(event.body)["to"] == "done"]
    assert set(json.loads(event.body)["closedSessions"]) == set(moved.closed_sessions)


@requirement("S0.reopen.fresh")
async def test_an_archived_session_of_a_task_that_was_done_does_not_come_back(desk: Desk) -> None:
    task = await in_review(desk)
    (session,) = await desk.sessions(task)
    key = SessionKey.stored(session.key)
    await desk.db.write(lambda tx: set_archived(tx, desk.access, key, archived=True))
    await desk.move(task, "done")
    await reopen(desk, task)
    assert await desk.db.write(lambda tx: set_archived(tx, desk.access, key, archived=False)) is None
    assert [found.closed_reason for found in await desk.sessions(task)] == ["task_done"]


@requirement("S0.close.transition.only")
async def test_no_other_move_closes_a_session(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    for status in ("in_progress", "blocked", "in_progress", "review", "in_progress", "review"):
        moved = await desk.move(task, status, reason="paint")
        assert moved.closed_sessions == moved.cancelled_runs == ()
    assert [session.closed_at for session in await desk.sessions(task)] == [None]


@requirement("S0.close.archived", "S0.x.archive.quiet")
@pytest.mark.parametrize("way", ["move", "change"])
async def test_archiving_by_any_path_closes_the_sessions_and_tells_no_agent(desk: Desk, way: str) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    await desk.post(task, "one more thing")
    if way == "move":
        moved = await desk.move(task, "archived")
    else:
        change = TaskChange(status="archived")
        moved = await desk.db.write(lambda tx: change_task(tx, desk.access, task.id, change, desk.rules))
    assert (moved.task.status, moved.task.archived_at) == ("archived", desk.clock.now_ms())
    assert [session.closed_reason for session in await desk.sessions(task)] == ["task_archived"]
    assert (len(moved.cancelled_runs), await desk.told(task)) == (1, [])


@requirement("S0.close.queued")
async def test_queued_and_waiting_runs_are_cancelled_with_the_reason(desk: Desk) -> None:
    task = await in_review(desk, "writer", "critic")
    await desk.say(lane("writer", task), "a question first")
    asking = await desk.take_one()
    assert isinstance(await desk.admit(asking), Session)
    await desk.end(asking, NeedsInput(question="which?"))
    await desk.post(task, "hello both")
    moved = await desk.move(task, "done")
    assert len(moved.cancelled_runs) == 3
    assert asking.id in moved.cancelled_runs
    assert len(moved.closed_sessions) == 2, "also that in which a run waits for an answer"
    for run_id in moved.cancelled_runs:
        run = await desk.run(run_id)
        assert (run.state, run.reason) == ("cancelled", "task_done")
        names = [event.name for event in await desk.read(lambda tx, of=run_id: events_of_run(tx, desk.access, of))]  # type: ignore[misc]
        assert names[-1] == "run.cancelled"
    assert [await desk.depth(lane(agent, task)) for agent in ("writer", "critic")] == [0, 0]


@requirement("S0.close.running")
async def test_a_running_run_finishes_in_its_closed_generation(desk: Desk) -> None:
    task = await in_review(desk)
    await desk.post(task, "how far are you?")
    held = await desk.take_one()
    session = await desk.admit(held)
    moved = await desk.move(task, "done")
    assert moved.cancelled_runs == ()
    assert isinstance(session, Session)
    assert moved.closed_sessions == (session.id,)
    await desk.reply(held, "nearly there")
    await desk.handle_ends()
    run = await desk.run(held.id)
    assert (run.state, run.session_id) == ("completed", session.id)
    history = await desk.read(lambda tx: read_history(tx, desk.access, task.id, message_limit=10, activity_limit=10))
    assert history.messages[-1].content == "nearly there"
    assert len(await desk.sessions(task)) == 1


@requirement("S0.close.transaction")
async def test_a_move_that_fails_changes_nothing(desk: Desk) -> None:
    task = await in_review(desk, "writer", "critic")
    await desk.post(task, "hello both")
    queued = await desk.told(task)

    class Broken(Exception):
        pass

    def fail_on_closed(tx: object, changed: object) -> None:
        raise Broken

    desk.db.observe(RunChanged, fail_on_closed)
    with pytest.raises(Broken):
        await desk.move(task, "done")
    assert (await desk.task(task)).status == "review"
    assert await desk.told(task) == queued
    assert [session.closed_at for session in await desk.sessions(task)] == [None]
    assert await desk.events("session.closed") == []
    assert not [event for event in await desk.events("task.moved") if json.loads(event.body)["to"] == "done"]


async def test_the_present_status_is_no_move(desk: Desk) -> None:
    task = await in_review(desk)
    before = len(await desk.events("task.moved"))
    moved = await desk.move(task, "review")
    assert (moved.changed, moved.task.seq) == (False, task.seq)
    assert len(await desk.events("task.moved")) == before
    assert await desk.told(task) == []


@requirement("S0.work.needs")
async def test_what_a_status_needs_is_required(desk: Desk) -> None:
    task = await desk.create()
    assert task.status == "inbox"
    assert await desk.refused(desk.move(task, "assigned")) == Code.ASSIGNEE_REQUIRED
    for status in ("in_progress", "review"):
        assert await desk.refused(desk.move(task, status, walk=True)) == Code.ASSIGNEE_REQUIRED
    assert await desk.refused(desk.move(task, "in_progress")) == Code.ILLEGAL_TRANSITION
    await desk.assign(task, "writer")
    assert await desk.refused(desk.move(task, "blocked")) == Code.BLOCKED_REASON_REQUIRED
    assert await desk.refused(desk.move(task, "blocked", reason="  ")) == Code.BLOCKED_REASON_REQUIRED
    assert await desk.refused(desk.move(task, "blocked", reason="x" * 2_001)) == Code.TOO_LONG
    moved = await desk.move(task, "blocked", reason="no paint")
    assert moved.task.blocked_reason == "no paint"
    assert (await desk.move(task, "assigned")).task.blocked_reason is None
    await desk.move(task, "inbox")
    assert await desk.subscribers(task) == {"owners"}, "nobody is assigned to a task in the inbox"


async def test_a_move_from_a_status_that_is_not_the_expected_one_conflicts(desk: Desk) -> None:
    task = await desk.create("writer")
    with pytest.raises(Refusal) as caught:
        await desk.move(task, "in_progress", expected="review")
    assert (caught.value.code, caught.value.details) == (Code.CONFLICT, {"status": "assigned"})
    assert (await desk.move(task, "in_progress", expected="assigned")).changed


@requirement("S0.fanout.status", "S0.work.agent.statuses")
async def test_a_status_change_notifies_the_assignees_except_the_actor_once_for_a_walk(desk: Desk) -> None:
    ada = await desk.person("ada")
    task = await desk.create("writer", "critic", assigned_user_ids=("ada",))
    await desk.work_off()
    writer = desk.agent("writer")
    before = len(await desk.mailbox(ada.actor_id))
    await desk.move(task, "in_progress", access=writer)
    assert await desk.told(task) == [("critic", "status_change")]
    await desk.move(task, "review", access=writer)
    told = (await desk.mailbox(ada.actor_id))[before:]
    assert [each.type for each in told] == ["status_change", "status_change"]
    assert "from in_progress to review" in told[-1].body


@requirement("S0.reopen.rule")
async def test_only_a_person_reopens_and_only_what_is_done(desk: Desk) -> None:
    task, writer = await in_review(desk), desk.agent("writer")
    assert await desk.refused(reopen(desk, task)) == Code.ILLEGAL_TRANSITION
    await desk.move(task, "done")
    assert await desk.refused(desk.db.write(lambda tx: reopen_task(tx, writer, task.id))) == Code.FORBIDDEN
    await desk.move(task, "archived")
    assert await desk.refused(reopen(desk, task)) == Code.ILLEGAL_TRANSITION


@requirement("S0.reopen.noop", "S0.reopen.fresh", "S0.session.next")
async def test_after_a_reopening_the_next_message_begins_anew(desk: Desk) -> None:
    task = await in_review(desk)
    await desk.post(task, "the old secret")
    await desk.answer_next("the old answer")
    await desk.move(task, "done")
    reopened = await reopen(desk, task)
    assert (reopened.status, await desk.told(task)) == ("review", [])
    assert len(await desk.sessions(task)) == 1, "no session, no run"
    await desk.post(task, "the new message")
    held = await desk.take_one()
    run = await desk.run(held.id)
    briefing = await desk.read(lambda tx: task_briefing(tx, run))
    assert briefing is not None
    assert briefing.earlier == (), "nothing from before the reopening"
    session = await desk.admit(held)
    assert isinstance(session, Session)
    assert session.generation == 2


@requirement("S0.done.late")
async def test_a_run_on_a_task_that_is_done_gets_a_generation_that_ends_with_it(desk: Desk) -> None:
    task = await in_review(desk)
    await desk.move(task, "done")
    await desk.say(lane("writer", task), "one question, though")
    held = await desk.take_one()
    session = await desk.admit(held)
    assert isinstance(session, Session)
    assert (session.generation, session.closed_at) == (2, None)
    await desk.reply(held)
    (_, late) = await desk.sessions(task)
    assert (late.generation, late.closed_reason) == (2, "task_done")


@requirement("S0.archived.never")
async def test_a_run_on_an_archived_task_is_never_heard(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    await desk.move(task, "archived")
    await desk.say(lane("writer", task), "are you there?")
    held = await desk.take_one()
    assert await desk.admit(held) == Cancelled(reason="task_archived")
    run = await desk.run(held.id)
    assert (run.state, run.reason, run.session_id) == ("cancelled", "task_archived", None)
    assert len(await desk.sessions(task)) == 1


@requirement("S0.x.stop.chat")
async def test_stopping_a_task_cancels_everything_and_blocks_it(desk: Desk) -> None:
    task = await desk.create("writer", "critic")
    held = (await desk.take(2))[0]
    await desk.admit(held)
    moved = await desk.db.write(lambda tx: stop_task(tx, desk.access, task.id, desk.rules))
    assert (moved.task.status, moved.task.blocked_reason) == ("blocked", "Stopped by Olga.")
    assert len(moved.cancelled_runs) == 2
    chat = await desk.coordinate()
    refused = desk.db.write(lambda tx: stop_task(tx, desk.access, chat, desk.rules))
    assert await desk.refused(refused) == Code.FORBIDDEN


@requirement("S0.x.done.rule")
async def test_an_agent_marks_a_task_done_only_from_review_and_only_with_permission(desk: Desk) -> None:
    task = await desk.create("writer")
    writer = desk.agent("writer")
    assert await desk.refused(desk.move(task, "done", access=writer)) == Code.FORBIDDEN
    await desk.settings(agentDefaults={"behaviorFlags": {"canMarkDone": True}})
    assert await desk.refused(desk.move(task, "done", access=writer)) == Code.ILLEGAL_TRANSITION
    for status in ("inbox", "archived"):
        assert await desk.refused(desk.move(task, status, access=writer)) == Code.FORBIDDEN
    await desk.move(task, "review", access=writer)
    assert (await desk.move(task, "done", access=writer)).task.status == "done"


@requirement("S0.reopen.fresh")
async def test_what_agents_told_each_other_before_is_not_heard_after_a_reopening(desk: Desk) -> None:
    task = await desk.create("writer", "critic")
    await desk.move(task, "in_progress", "review")
    await desk.work_off()
    await desk.post(task, "@all the old secret")
    for held in await desk.take(10):
        await desk.admit(held)
        await desk.reply(held, "the old answer")
    await desk.handle_ends()
    taken = await desk.take(10)
    assert taken, "each is told of the other's answer"
    await desk.move(task, "done")
    await reopen(desk, task)
    for held in taken:
        assert await desk.admit(held) == Cancelled(reason="task_done")
    await desk.post(task, "the new message")
    assert isinstance(await desk.admit((await desk.take(1))[0]), Session)

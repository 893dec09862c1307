"""Ticks: when they come, what ends an auto run, and what stops them. The clock stands still until a test moves it."""

from typing import Any

import pytest

from carrel.chats import note_chat_address
from carrel.kernel import Code, Refusal, SessionKey
from carrel.kernel.limits import AUTO_RUNS_PER_SESSION_MAX
from carrel.kernel.settings import SendPolicySettings
from carrel.modes import AutoRun, prune_auto_runs
from carrel.modes.auto.store import auto_run_by_id
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.outbox import reply_address_of
from carrel.runs import Completed, Failed, NeedsInput, Rules, Run, remove_lane, retry, stop_lane
from carrel.runs.store import delete_run
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.work import TaskChange, change_task, move_task
from tests.harness.engine import MAIN, Engine, FakeClock, open_engine
from tests.modes.auto.timeline import CHAT, OTHER, AutoTimeline
from tests.requirements.mark import requirement

FAILED = Failed(code="broken", message="It broke.")


def said(text: str) -> Completed:
    """A tick that says something."""
    return Completed(reply=text)


@requirement("S3.auto.tick.address", "S3.auto.registry")
async def test_the_first_tick_is_delivered_at_once_into_the_lane_of_its_session(line: AutoTimeline) -> None:
    auto = await line.start(CHAT, text="Write the report\nwith a summary")
    await line.settle()
    (tick,) = await line.ticks()
    assert (tick.key, tick.source().kind, tick.source().actor) == (str(CHAT), "auto", auto.id)
    assert (tick.task_id, tick.auto_run_id) == (auto.task_id, auto.id)
    assert f"{auto.task_id}: Write the report" in tick.text
    (started,), (ticked,) = await line.told("auto.started"), await line.told("auto.ticked")
    assert (started["run"]["tickCount"], ticked["run"]["tickCount"]) == (0, 1)
    assert ticked["run"]["sessionIdentity"] == {"channelType": "web", "conversationKey": "conversation-1"}


@requirement("S3.x.tick.parallel")
async def test_the_next_tick_comes_an_interval_after_the_last_one_started_and_not_before_it_has_ended(
    line: AutoTimeline,
) -> None:
    auto = await line.start(interval_seconds=60)
    await line.settle()
    held = await line.begin()
    await line.later(150)
    assert len(await line.ticks()) == 1, "the first one still works"
    await line.engine.end(held, said("one"))
    await line.settle()
    assert len(await line.ticks()) == 2, "it is late, so the next one comes at once"
    await line.later(20)
    await line.work(said("two"))
    assert len(await line.ticks()) == 2
    # The second was taken 20 seconds after it was delivered, and counts from then on.
    await line.later(59)
    assert len(await line.ticks()) == 2
    await line.later(1)
    assert len(await line.ticks()) == 3
    assert (await line.now(auto)).tick_count == 3


@requirement("S3.x.tick.parallel")
async def test_a_long_tick_of_one_session_delays_no_other_session(line: AutoTimeline) -> None:
    long = await line.start(CHAT)
    await line.settle()
    working = await line.begin()
    assert working.auto_run_id == long.id
    other = await line.start(OTHER)
    for n in range(3):
        await line.settle()
        assert (await line.work(said(str(n)))).auto_run_id == other.id
        await line.later(60)
    assert len(await line.ticks(other)) == 4
    assert len(await line.ticks(long)) == 1


async def test_a_tick_that_waits_for_a_person_keeps_the_next_one_back(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    held = await line.begin()
    await line.engine.end(held, NeedsInput(question="Which colour?"))
    await line.later(600)
    assert len(await line.ticks()) == 1
    await line.engine.answer(held.id, "blue")
    await line.work(said("blue then"))
    await line.later(60)
    assert len(await line.ticks(auto)) == 2


@requirement("S3.auto.end")
async def test_an_auto_run_is_completed_once_its_task_is_done(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    held = await line.begin()
    await line.engine.db.write(lambda tx: _finish(tx, line, auto))
    await line.engine.end(held, said("done"))
    await line.settle()
    ended = await line.now(auto)
    assert (ended.status, ended.reason, ended.due_at) == ("completed", "task_done", None)
    assert await line.listed() == [], "it has left the registry"
    assert [one.id for one in await line.listed(ended=True)] == [auto.id]
    (stopped,) = await line.told("auto.stopped")
    assert (stopped["run"]["runId"], stopped["run"]["status"]) == (auto.id, "completed")
    await line.later(600)
    assert len(await line.ticks()) == 1


def _finish(tx: Tx, line: AutoTimeline, auto: AutoRun) -> object:
    return move_task(tx, line.engine.access, auto.task_id, "done", line.engine.rules, walk=True)


async def test_a_task_that_a_person_finishes_between_two_ticks_ends_the_auto_run(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    await line.work(said("one"))
    await line.engine.db.write(lambda tx: _finish(tx, line, auto))
    await line.later(60)
    assert (await line.now(auto)).status == "completed"
    assert len(await line.ticks()) == 1


async def test_a_tick_that_waits_when_its_task_is_done_is_not_heard(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    await line.engine.db.write(lambda tx: _finish(tx, line, auto))
    (tick,) = await line.ticks()
    assert (tick.state, tick.reason) == ("cancelled", "task_done")
    await line.settle()
    assert (await line.now(auto)).status == "completed"


@requirement("S3.auto.end")
async def test_a_tick_that_fails_for_good_fails_the_auto_run_and_the_session_is_told(line: AutoTimeline) -> None:
    auto = await line.start(CHAT)
    await line.settle()
    await line.work(FAILED)
    ended = await line.now(auto)
    assert (ended.status, ended.reason) == ("failed", "tick_failed")
    assert await line.notices(auto) == [f"Auto run {auto.id} on task {auto.task_id} has failed: It broke."]
    await line.later(600)
    (tick,) = await line.ticks()
    with pytest.raises(Refusal) as refusal:
        await line.engine.db.write(lambda tx: retry(tx, line.engine.access, tick, line.engine.rules))
    assert refusal.value.code == Code.CONFLICT, "nobody repeats a tick beside its auto run"


@requirement("S3.auto.end")
async def test_an_auto_run_is_stopped_when_its_ticks_are_used_up(engine: Engine) -> None:
    line = AutoTimeline(engine, max_ticks=2)
    auto = await line.start()
    for n in range(2):
        await line.settle()
        await line.work(said(str(n)))
        await line.later(60)
    ended = await line.now(auto)
    assert (ended.status, ended.reason, ended.tick_count) == ("stopped", "max_ticks", 2)
    assert len(await line.ticks()) == 2


async def test_a_blocked_task_is_not_ticked_until_a_person_frees_it(line: AutoTimeline) -> None:
    auto = await line.start()
    access, rules = line.engine.access, line.engine.rules
    await line.engine.db.write(
        lambda tx: move_task(tx, access, auto.task_id, "blocked", rules, reason="why", walk=True)
    )
    await line.settle()
    await line.later(600)
    assert await line.ticks() == []
    assert (await line.now(auto)).status == "active"
    await line.engine.db.write(
        lambda tx: change_task(tx, access, auto.task_id, TaskChange(status="in_progress"), rules)
    )
    await line.later(60)
    assert len(await line.ticks()) == 1


async def test_an_archived_task_stops_its_auto_run(line: AutoTimeline) -> None:
    auto = await line.start()
    access, rules = line.engine.access, line.engine.rules
    await line.engine.db.write(lambda tx: move_task(tx, access, auto.task_id, "archived", rules))
    await line.settle()
    assert ((await line.now(auto)).status, (await line.now(auto)).reason) == ("stopped", "task_archived")


@requirement("S3.edge.autooff", "S3.auto.off")
async def test_stopping_cancels_a_waiting_tick_in_the_same_transaction(line: AutoTimeline) -> None:
    auto, other = await line.start(CHAT), await line.start(OTHER)
    await line.settle()
    assert await line.stop(CHAT) == [auto.id]
    (tick,) = await line.ticks(auto)
    assert (tick.state, tick.reason) == ("cancelled", "stopped")
    assert (await line.now(auto)).status == "stopped"
    await line.later(600)
    assert len(await line.ticks(auto)) == 1
    assert (await line.now(other)).status == "active", "that of another session goes on"
    assert await line.stop(CHAT) == []


@requirement("S3.edge.autooff")
async def test_an_auto_run_is_stopping_until_its_working_tick_has_ended(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    held = await line.begin()
    assert await line.stop() == [auto.id]
    assert (await line.now(auto)).status == "stopping"
    assert (await line.engine.run(held.id)).stopping == "stopped"
    assert [one.id for one in await line.listed()] == [auto.id]
    await line.later(60)
    assert (await line.now(auto)).status == "stopping"
    await line.engine.end(held, said("too late"))
    await line.settle()
    assert (await line.now(auto)).status == "stopped"
    assert (await line.engine.run(held.id)).state == "cancelled"
    await line.later(600)
    assert len(await line.ticks()) == 1


@requirement("S3.auto.off.id", "S3.auto.registry")
async def test_of_two_auto_runs_of_one_session_one_can_be_stopped(line: AutoTimeline) -> None:
    one, two = await line.start(text="this"), await line.start(text="that")
    assert {auto.id for auto in await line.listed()} == {one.id, two.id}
    assert await line.stop(auto=one) == [one.id]
    assert [auto.id for auto in await line.listed()] == [two.id]
    await line.settle()
    assert [tick.auto_run_id for tick in await line.ticks()] == [two.id]


async def test_stopping_a_session_stops_its_auto_runs(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    await line.engine.db.write(lambda tx: stop_lane(tx, line.engine.access, str(MAIN), "stopped"))
    assert ((await line.now(auto)).status, (await line.now(auto)).reason) == ("stopped", "session_stopped")
    await line.later(600)
    assert len(await line.ticks()) == 1


async def test_a_deleted_session_takes_its_auto_runs_with_it(line: AutoTimeline) -> None:
    auto = await line.start(CHAT)
    await line.settle()

    def delete(tx: Tx) -> str | None:
        lane = lane_of(tx, line.engine.access, CHAT)
        assert lane is not None
        return remove_lane(tx, line.engine.access, lane)

    assert await line.engine.db.write(delete) is None
    (stopped,) = await line.told("auto.stopped")
    assert (stopped["run"]["runId"], stopped["run"]["status"]) == (auto.id, "stopped")
    assert await line.listed(CHAT, ended=True) == []
    await line.settle()


@requirement("S3.auto.context", "S3.auto.kinds")
async def test_an_auto_run_without_a_task_cannot_be_made_and_its_kind_follows_from_its_ids(line: AutoTimeline) -> None:
    auto = await line.start()
    assert auto.run_kind == "TASK_RUN"
    with pytest.raises(ValueError, match="has a task"):
        AutoRun(**_fields(auto) | {"task_id": ""})
    assert AutoRun(**_fields(auto) | {"goal_id": "goal_1"}).run_kind == "GOAL_RUN"


def _fields(auto: AutoRun) -> dict[str, Any]:
    return {name: getattr(auto, name) for name in AutoRun.__struct_fields__}


@requirement("S3.auto.on.task")
async def test_a_task_is_given_made_from_a_text_or_new(line: AutoTimeline) -> None:
    await line.engine.make_task("given")
    given = await line.start(task_id="given")
    made, new = await line.start(text="Write it\nwith care"), await line.start(CHAT)
    tasks = [await line.task(auto) for auto in (made, new)]
    assert given.task_id == "given"
    assert (tasks[0].title, tasks[0].description) == ("Write it", "Write it\nwith care")
    assert (tasks[1].title, tasks[1].metadata) == ("Work in session conversation-1", {"sessionKey": str(CHAT)})
    assert [task.status for task in tasks] == ["assigned", "assigned"]
    assert [run.provenance_kind for run in await line.engine.runs(MAIN)] == [], "nobody was notified"


async def test_a_closed_task_an_unknown_one_and_too_many_auto_runs_are_refused(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.engine.db.write(lambda tx: _finish(tx, line, auto))
    refused = [await _refused(line, task_id=auto.task_id), await _refused(line, task_id="task_nowhere")]
    assert refused == [Code.CONFLICT, Code.NOT_FOUND]
    assert await _refused(line, task_id=auto.task_id, text="both") == Code.INVALID_PARAMS
    assert await _refused(line, interval_seconds=0) == Code.INVALID_PARAMS
    for _ in range(AUTO_RUNS_PER_SESSION_MAX):
        await line.start(CHAT)
    with pytest.raises(Refusal) as refusal:
        await line.start(CHAT)
    assert refusal.value.code == Code.LIMIT_REACHED


async def _refused(line: AutoTimeline, **more: Any) -> Code:
    with pytest.raises(Refusal) as refusal:
        await line.start(**more)
    return refusal.value.code


async def test_a_cancelled_tick_is_followed_by_the_next_one(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    (tick,) = await line.ticks()
    await line.engine.cancel(tick)
    await line.settle()
    assert len(await line.ticks()) == 1
    await line.later(60)
    assert ((await line.now(auto)).status, len(await line.ticks())) == ("active", 2)


async def test_a_lane_that_accepts_no_message_is_asked_again_later(store_url: str) -> None:
    denying = Rules(send_policy=SendPolicySettings(default="deny"))
    async with open_engine(store_url, rules=denying) as engine:
        line = AutoTimeline(engine)
        auto = await line.start()
        await line.settle()
        assert ((await line.now(auto)).tick_count, await line.ticks()) == (0, [])
        line.engine.rules = Rules()
        line.duty = line.server("server-1")
        await line.later(60)
        assert len(await line.ticks()) == 1


async def test_the_reply_of_a_tick_goes_to_the_chat_where_its_session_was_last_used(line: AutoTimeline) -> None:
    key, engine = SessionKey.of("main", "telegram:conversation-3"), line.engine
    await engine.say(key, "hello", channel="telegram")
    await engine.end(await engine.take_one())
    await engine.db.write(lambda tx: note_chat_address(tx, engine.access, str(key), "4711"))
    await line.start(key)
    await line.settle()
    (tick,) = await line.ticks()
    assert tick.key == str(key), "never a transport"
    assert await engine.read(lambda tx: reply_address_of(tx, engine.access, tick.id)) == ("telegram", "4711")


async def test_an_ended_auto_run_is_pruned_once_its_ticks_are(line: AutoTimeline) -> None:
    auto, engine = await line.start(), line.engine
    await line.settle()
    await line.work(FAILED)
    live = await line.start(CHAT)
    await line.settle()
    assert await engine.db.write(lambda tx: prune_auto_runs(tx, engine.access, 1)) == 0
    assert isinstance(engine.clock, FakeClock)
    engine.clock.advance(3 * 86_400)
    assert await engine.db.write(lambda tx: prune_auto_runs(tx, engine.access, 1)) == 0, "its tick is still there"
    await engine.db.write(lambda tx: [delete_run(tx, auto.access, tick.id) for tick in _ticks(tx, auto)])
    assert await engine.db.write(lambda tx: prune_auto_runs(tx, engine.access, 1)) == 1
    assert await engine.read(lambda tx: auto_run_by_id(tx, auto.access, auto.id)) is None
    assert (await line.now(live)).status == "active"


def _ticks(tx: Tx, auto: AutoRun) -> list[Run]:
    return runs_newest_first(tx, auto.access, RunFilter(auto_run_id=auto.id), before=None, limit=10)

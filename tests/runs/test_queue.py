"""deliver(): what is accepted, what is refused, and that a repeated message is one run."""

import asyncio

import pytest
from msgspec import structs

from carrel.kernel import Code, Envelope, Message, NewAttachment, Provenance, Refusal, SessionKey
from carrel.kernel.limits import ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, MESSAGE_CHARS_MAX
from carrel.kernel.settings import RunsSettings
from carrel.monitoring import RunFilter, queue_order, runs_newest_first
from carrel.records import attachments_by_id
from carrel.runs import Rules, deliver, queue_position, retire_agent
from carrel.runs.store import delete_run
from carrel.sessions import lane_of
from tests.harness.engine import MAIN, Engine, lane_key, open_engine
from tests.requirements.mark import requirement

PERSON = Provenance(kind="external_user")


async def refusal_of(engine: Engine, message: Message, key: SessionKey = MAIN) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: deliver(tx, engine.access, Envelope(key=key, message=message), engine.rules))
    return caught.value


@requirement("P.door", "S1.x.queue.derived")
async def test_a_message_becomes_a_queued_run_with_everything_it_came_with(engine: Engine) -> None:
    file = NewAttachment(name="a.txt", mime_type="text/plain", content=b"\x00bytes")
    said = Message(
        text="hello", provenance=structs.replace(PERSON, actor="usr_1"), sender_id="m-1", attachments=(file,)
    )
    sent = Envelope(key=MAIN, message=said, channel="web", task_id="task_1", label="first", timeout_seconds=9)
    run = await engine.deliver(sent)
    found = await engine.run(run.id)
    assert found == run
    assert (found.state, found.text, found.channel, found.task_id) == ("queued", "hello", "web", "task_1")
    assert (found.label, found.timeout_ms, found.sender_id) == ("first", 9_000, "m-1")
    assert found.source() == said.provenance
    assert found.message_id == "ent_" + run.id.removeprefix("run_")
    (kept,) = await engine.db.read(lambda tx: attachments_by_id(tx, engine.access, found.attached()))
    assert (kept.name, kept.mime_type, kept.content) == ("a.txt", "text/plain", b"\x00bytes")
    lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, MAIN))
    assert lane is not None
    assert (lane.last_channel, lane.depth, lane.updated_at) == ("web", 1, engine.clock.now_ms())


async def test_a_senders_message_delivered_twice_is_one_run(engine: Engine) -> None:
    runs = await asyncio.gather(*(engine.say(MAIN, "once", sender_id="m-1") for _ in range(10)))
    elsewhere = await engine.say(lane_key("other"), "once", sender_id="m-1")
    assert {run.id for run in [*runs, elsewhere]} == {runs[0].id}
    assert await engine.depth(MAIN) == 1
    engine.access = structs.replace(engine.access, actor_id="someone-else")
    assert (await engine.say(MAIN, "once", sender_id="m-1")).id != runs[0].id


async def test_empty_or_too_large_messages_are_refused_and_leave_nothing(engine: Engine) -> None:
    small = NewAttachment(name="a", mime_type="text/plain", content=b"x")
    large = structs.replace(small, content=bytes(ATTACHMENT_BYTES_MAX + 1))
    wrong = {
        Code.INVALID_PARAMS: Message(text=" \n", provenance=PERSON),
        Code.TOO_LONG: Message(text="x" * (MESSAGE_CHARS_MAX + 1), provenance=PERSON),
        Code.LIMIT_REACHED: Message(text="x", provenance=PERSON, attachments=(small,) * (ATTACHMENTS_MAX + 1)),
        Code.TOO_LARGE: Message(text="x", provenance=PERSON, attachments=(large,)),
    }
    for code, message in wrong.items():
        assert (await refusal_of(engine, message)).code == code
    assert await engine.db.read(lambda tx: lane_of(tx, engine.access, MAIN)) is None
    longest = Message(text="x" * MESSAGE_CHARS_MAX, provenance=PERSON, attachments=(small,) * ATTACHMENTS_MAX)
    sent = Envelope(key=MAIN, message=longest)
    await engine.db.write(lambda tx: deliver(tx, engine.access, sent, engine.rules))


async def test_a_disabled_or_unknown_agent_accepts_no_message(engine: Engine) -> None:
    await engine.make_agent("writer")
    key = SessionKey.of("writer", "main")
    waiting = await engine.say(key, "before")
    await engine.db.write(lambda tx: retire_agent(tx, engine.access, "writer"))
    said = Message(text="hello", provenance=PERSON)
    assert (await refusal_of(engine, said, key)).code == Code.FORBIDDEN
    assert (await refusal_of(engine, said, SessionKey.of("nobody", "main"))).code == Code.NOT_FOUND
    ended = await engine.run(waiting.id)
    assert (ended.state, ended.reason) == ("cancelled", "agent_disabled")
    assert await engine.take() == []


@requirement("S1.queue.limit", "S1.queue.notreject")
async def test_a_lane_queues_up_to_its_limit_besides_the_running_run(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(lane_queue_max=3))
    async with open_engine(store_url, rules=rules) as engine:
        await engine.say(MAIN, "working")
        held = await engine.take_one()
        for n in range(3):
            await engine.say(MAIN, f"queued {n}")
        refused = await refusal_of(engine, Message(text="one too many", provenance=PERSON))
        assert (refused.code, refused.retry_after_seconds) == (Code.QUEUE_FULL, 5)
        assert await engine.depth(MAIN) == len(await engine.live(MAIN)) == 4
        await engine.end(held)
        await engine.take_one()
        await engine.say(lane_key("other"), "other lanes are not concerned")
        await engine.say(MAIN, "there is room now")
        assert (await refusal_of(engine, Message(text="x", provenance=PERSON))).code == Code.QUEUE_FULL


@requirement("S1.queue.limit")
def test_the_limit_of_a_lane_is_9999() -> None:
    assert RunsSettings().lane_queue_max == 9_999
    assert Rules().runs.lane_queue_max == 9_999


@requirement("S1.x.cancel.leaves", "S1.queue.pending", "S1.dispatch.visible")
async def test_a_cancelled_run_no_longer_counts_in_limits_or_positions(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(lane_queue_max=3))
    async with open_engine(store_url, rules=rules) as engine:
        runs = [await engine.say(MAIN, f"line {n}") for n in range(3)]
        order = await engine.db.read(lambda tx: queue_order(tx, engine.access, str(MAIN)))
        assert order == {run.id: place for place, run in enumerate(runs, 1)}
        await engine.cancel(runs[1].id)
        last = await engine.say(MAIN, "line 3")
        order = await engine.db.read(lambda tx: queue_order(tx, engine.access, str(MAIN)))
        assert order == {runs[0].id: 1, runs[2].id: 2, last.id: 3}
        assert await engine.db.read(lambda tx: queue_position(tx, last)) == 3
        cancelled = await engine.run(runs[1].id)
        assert await engine.db.read(lambda tx: queue_position(tx, cancelled)) is None


async def test_the_time_limit_is_the_runs_own_or_that_of_its_kind(store_url: str) -> None:
    rules = Rules(runs=RunsSettings(timeout_minutes=2), a2a_timeout_minutes=0.5)
    async with open_engine(store_url, rules=rules) as engine:
        assert (await engine.say(MAIN, "a")).timeout_ms == 120_000
        assert (await engine.say(MAIN, "b", kind="a2a")).timeout_ms == 30_000
        assert (await engine.say(MAIN, "c", timeout_seconds=7)).timeout_ms == 7_000


@requirement("S1.store.crud", "S1.store.fields")
async def test_a_run_can_be_created_read_listed_changed_and_deleted(engine: Engine) -> None:
    first, second = await engine.say(lane_key("a"), "one"), await engine.say(lane_key("b"), "two")

    async def listed(wanted: RunFilter) -> list[str]:
        found = await engine.db.read(lambda tx: runs_newest_first(tx, engine.access, wanted, before=None, limit=50))
        return [run.id for run in found]

    assert await listed(RunFilter()) == [second.id, first.id]
    assert await listed(RunFilter(key=first.key)) == [first.id]
    await engine.cancel(first.id)
    assert await listed(RunFilter(state="cancelled")) == [first.id]
    assert await engine.db.write(lambda tx: delete_run(tx, engine.access, first.id)) is True
    assert await engine.db.write(lambda tx: delete_run(tx, engine.access, first.id)) is False
    assert await listed(RunFilter()) == [second.id]

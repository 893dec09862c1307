"""Plan mode switched by several at once: each change is whole, and acts on one session."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec import structs

from carrel.chats import move_pointer, pointed_lane
from carrel.commands import ChatMessage, Received, receive
from carrel.kernel import Code, Refusal, SessionKey
from carrel.kernel.settings import Settings
from carrel.modes import disable_plan_mode, enable_plan_mode, write_plan
from carrel.runs import remove_lane
from carrel.sessions import lane_of, make_lane
from carrel.storage import Tx
from tests.harness.engine import SECONDS_MAX, Engine, open_engine, within
from tests.modes.planner import CHAT, OTHER, STEPS, Planner
from tests.requirements.mark import requirement


@pytest.fixture
async def planner(postgres_url: str) -> AsyncIterator[Planner]:
    """Plan mode on PostgreSQL, where transactions overlap."""
    async with open_engine(postgres_url) as engine:
        yield Planner(engine)


async def overlapping(engine: Engine, first: Callable[[Tx], Any], second: Callable[[Tx], Any]) -> tuple[object, object]:
    """Let `second` begin when `first` has acted, and `first` commit when `second` waits for it; how both ended."""
    has_acted = threading.Event()
    began: list[str] = []

    def ahead(tx: Tx) -> object:
        began.append("first")
        done = first(tx)
        has_acted.set()
        # Looking is all the waiting there is.
        for _ in range(100_000):
            if tx.one("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1"):
                return done
        raise AssertionError("the second never waited for the first")

    def behind(tx: Tx) -> object:
        began.append("second")
        assert has_acted.wait(SECONDS_MAX)
        return second(tx)

    ended = await within(asyncio.gather(engine.db.write(ahead), engine.db.write(behind), return_exceptions=True))
    assert sorted(began) == ["first", "second"], "nobody had to begin again"
    return ended[0], ended[1]


async def test_two_tabs_that_switch_on_at_once_begin_one_plan(planner: Planner) -> None:
    def on(tx: Tx) -> object:
        return enable_plan_mode(tx, planner.access, CHAT)

    first, second = await overlapping(planner.engine, on, on)
    assert first == second == await planner.state()
    assert len(await planner.plans()) == 1
    assert [name for name, _, _ in await planner.told()] == ["plan_mode.enabled"]


async def test_on_and_off_at_once_end_as_the_last_of_them_says(planner: Planner) -> None:
    await planner.on()

    def off(tx: Tx) -> object:
        return disable_plan_mode(tx, planner.access, CHAT, planner.engine.rules)

    def on(tx: Tx) -> object:
        return enable_plan_mode(tx, planner.access, CHAT)

    await overlapping(planner.engine, off, on)
    state = await planner.state()
    assert state.enabled
    assert state.active_plan_id is not None
    assert (await planner.plan(state.active_plan_id)).status == "drafting"
    assert sorted(plan.status for plan in await planner.plans()) == ["cancelled", "drafting"]


async def test_a_plan_written_while_plan_mode_is_switched_off_is_either_kept_or_refused_whole(planner: Planner) -> None:
    def off(tx: Tx) -> object:
        return disable_plan_mode(tx, planner.access, CHAT, planner.engine.rules)

    def write(tx: Tx) -> object:
        return write_plan(tx, planner.access, CHAT, markdown="# A garden", tasks=STEPS)

    await planner.on()
    _, written = await overlapping(planner.engine, off, write)
    assert isinstance(written, Refusal)
    assert [plan.status for plan in await planner.plans()] == ["cancelled"]
    await planner.on()
    await overlapping(planner.engine, write, off)
    state = await planner.state()
    assert not state.enabled
    assert (await planner.plan(state.active_plan_id or "")).status == "ready"


async def test_a_session_that_is_deleted_while_it_is_switched_on_leaves_nothing_behind(planner: Planner) -> None:
    await planner.engine.db.write(lambda tx: make_lane(tx, planner.access, CHAT))

    def delete(tx: Tx) -> object:
        lane = lane_of(tx, planner.access, CHAT)
        assert lane is not None
        return remove_lane(tx, planner.access, lane)

    def on(tx: Tx) -> object:
        return enable_plan_mode(tx, planner.access, CHAT)

    _, switched = await overlapping(planner.engine, delete, on)
    assert isinstance(switched, Refusal)
    assert switched.code is Code.NOT_FOUND
    assert not await planner.planning()
    await planner.engine.db.write(lambda tx: make_lane(tx, planner.access, CHAT))
    assert not await planner.planning()
    await overlapping(planner.engine, on, delete)
    assert not await planner.planning()
    assert await planner.engine.read(lambda tx: lane_of(tx, planner.access, CHAT)) is None


@requirement("S3.edge.switch")
@pytest.mark.parametrize("which", ["command first", "switch first"])
async def test_plan_on_racing_a_switch_acts_wholly_on_one_session(planner: Planner, which: str) -> None:
    engine = planner.engine
    access = structs.replace(planner.access, kind="owner", actor_id="tok_1")

    def make(tx: Tx) -> None:
        for key in (OTHER, CHAT):
            move_pointer(tx, access, "web", "tab", make_lane(tx, access, key), "test")

    await engine.db.write(make)

    def said(text: str) -> Callable[[Tx], Received]:
        message = ChatMessage(text=text, channel="web", client_instance_id="tab")
        return lambda tx: receive(tx, access, Settings(), engine.rules, message)

    command, switch = said("/plan on"), said(f"/switch {OTHER}")
    order = (command, switch) if which == "command first" else (switch, command)
    ended = await overlapping(engine, *order)
    done = ended[order.index(command)]
    assert isinstance(done, Received)
    assert done.done is not None
    states = {key: await planner.state(key) for key in (CHAT, OTHER)}
    assert [key for key, state in states.items() if state.enabled] == [done.key]
    assert states[SessionKey.of("main", "web:conversation1") if done.key == OTHER else OTHER].updated_at is None
    assert (states[done.key].active_plan_id or "") in done.done.reply
    assert len(await planner.plans(done.key)) == 1
    pointed = await engine.read(lambda tx: pointed_lane(tx, access, "web", "tab"))
    assert pointed is not None
    assert pointed.session_key == OTHER, "the switch is not undone"

"""Plan mode is the state of one session: what is switched, written, approved and deleted there is seen nowhere else."""

from collections import Counter
from functools import partial

import pytest

from carrel.kernel import METRICS, Access, Code, Refusal, SessionKey
from carrel.modes import plan_gauges
from tests.harness.engine import MAIN, Engine, open_engine
from tests.modes.planner import CHAT, OTHER, Planner
from tests.requirements.mark import requirement


@pytest.fixture
def planner(engine: Engine) -> Planner:
    """Plan mode of account `default`."""
    return Planner(engine)


@requirement("S3.plan.scope")
async def test_a_session_is_not_in_plan_mode_until_it_is_switched_on(planner: Planner) -> None:
    before = await planner.state()
    assert (before.enabled, before.active_plan_id, before.updated_at) == (False, None, None)
    state = await planner.on()
    (plan,) = await planner.plans()
    assert (state.key, state.enabled, state.active_plan_id) == (str(CHAT), True, plan.id)
    assert state.updated_at == planner.engine.clock.now_ms()
    assert (plan.status, plan.markdown, plan.key) == ("drafting", "", str(CHAT))
    assert await planner.planning()


@requirement("S3.plan.isolated", "S3.inv.1")
async def test_what_happens_in_one_session_leaves_every_other_as_it_was(engine: Engine) -> None:
    here, there = Planner(engine), Planner(engine, await engine.another_account("other"))
    await engine.make_agent("writer")
    alike = (OTHER, MAIN, SessionKey.of("main", "cli:conversation1"), SessionKey.of("writer", "web:conversation1"))
    others = [(here, key) for key in alike] + [(there, CHAT), (there, OTHER)]
    for planner, key in others[::2]:
        await planner.on(key)
    before = [await planner.state(key) for planner, key in others]
    plans = [await planner.plans(key) for planner, key in others]
    engine.advance(60)
    await here.on()
    engine.advance(60)
    written = await here.write(tasks=None)
    engine.advance(60)
    await here.change("cancel", written.id)
    engine.advance(60)
    await here.off()
    assert [await planner.state(key) for planner, key in others] == before
    assert [await planner.plans(key) for planner, key in others] == plans


async def test_switching_on_twice_changes_nothing(planner: Planner) -> None:
    first = await planner.on()
    planner.engine.advance(60)
    assert await planner.on() == first
    assert await planner.state() == first
    assert len(await planner.plans()) == 1
    assert [name for name, _, _ in await planner.told()] == ["plan_mode.enabled"]


async def test_switching_off_twice_changes_nothing(planner: Planner) -> None:
    await planner.on()
    first = await planner.off()
    planner.engine.advance(60)
    assert await planner.off() == first
    assert await planner.state() == first
    assert [name for name, _, _ in await planner.told()] == ["plan_mode.enabled", "plan_mode.disabled"]


@requirement("S3.plan.cmd.off")
async def test_switching_off_cancels_a_plan_that_is_still_being_written_for_good(planner: Planner) -> None:
    drafted = (await planner.on()).active_plan_id
    assert drafted is not None
    planner.engine.advance(1)
    off = await planner.off()
    assert (off.enabled, off.active_plan_id) == (False, None)
    assert off.updated_at == planner.engine.clock.now_ms()
    assert (await planner.plan(drafted)).status == "cancelled"
    again = await planner.on()
    assert again.active_plan_id not in (None, drafted)
    assert (await planner.plan(drafted)).status == "cancelled"


async def test_switching_off_keeps_a_plan_that_is_written(planner: Planner) -> None:
    await planner.on()
    written = await planner.write(tasks=None)
    off = await planner.off()
    assert (off.enabled, off.active_plan_id) == (False, written.id)
    assert (await planner.plan(written.id)).status == "ready"
    assert (await planner.on()).active_plan_id == written.id


@requirement("S3.plan.one")
async def test_what_is_written_replaces_the_plan_that_was_active_unless_that_was_not_begun(planner: Planner) -> None:
    drafted = (await planner.on()).active_plan_id
    first = await planner.write(markdown="# One")
    revised = await planner.write(markdown="# Two")
    assert first.id == revised.id == drafted
    assert (await planner.plan(first.id)).markdown == "# Two"
    await planner.change("approve")
    assert (await planner.on()).active_plan_id == first.id, "a plan under way stays the active one"
    second = await planner.write(markdown="# Three")
    assert second.id != first.id
    assert (await planner.state()).active_plan_id == second.id
    assert (await planner.plan(first.id)).status == "working"


async def test_a_plan_cannot_be_written_outside_of_plan_mode(planner: Planner) -> None:
    with pytest.raises(Refusal) as refused:
        await planner.write()
    assert refused.value.code is Code.TOOL_NOT_ALLOWED
    assert "/plan on" in refused.value.message
    assert await planner.plans() == []


@requirement("S3.x.plan.steps")
async def test_approving_the_plan_runs_its_tasks_and_ends_the_planning(planner: Planner) -> None:
    await planner.on()
    await planner.write()
    approved = await planner.change("approve")
    state = await planner.state()
    assert (approved.status, state.enabled, state.active_plan_id) == ("working", False, approved.id)
    assert [name for name, _, _ in await planner.told()] == ["plan_mode.enabled", "plan_mode.disabled"]
    begun = await planner.engine.take(10)
    assert len(begun) == 1, "the second task waits for the first"
    assert begun[0].key.startswith("agent:main:task:")


@requirement("S3.x.plan.steps")
async def test_a_plan_without_tasks_cannot_be_approved(planner: Planner) -> None:
    await planner.on()
    before = await planner.write(tasks=None)
    with pytest.raises(Refusal) as refused:
        await planner.change("approve")
    assert refused.value.code is Code.ILLEGAL_TRANSITION
    assert (await planner.plan(before.id)).status == "ready"
    assert await planner.planning()


async def test_approving_another_plan_than_the_active_one_leaves_plan_mode_on(planner: Planner) -> None:
    await planner.on()
    first = await planner.write()
    await planner.change("approve")
    await planner.change("cancel", first.id)
    await planner.on()
    second = await planner.write()
    await planner.off()
    await planner.change("cancel", second.id)
    third = (await planner.on()).active_plan_id
    with pytest.raises(Refusal):
        await planner.change("approve", second.id)
    assert (await planner.state()).active_plan_id == third
    assert await planner.planning()


async def test_cancelling_the_active_plan_leaves_none_and_the_mode_as_it_is(planner: Planner) -> None:
    await planner.on()
    await planner.change("cancel")
    state = await planner.state()
    assert (state.enabled, state.active_plan_id) == (True, None)
    written = await planner.write()
    assert (await planner.state()).active_plan_id == written.id


@requirement("S3.plan.finalize")
@pytest.mark.parametrize("how", ["approve", "cancel", "resume"])
async def test_a_plan_of_another_session_is_not_found(engine: Engine, how: str) -> None:
    here, there = Planner(engine), Planner(engine, await engine.another_account("other"))
    for planner, key in ((here, CHAT), (here, OTHER), (there, CHAT)):
        await planner.on(key)
    elsewhere = [await here.write(OTHER), await there.write(CHAT)]
    for plan in elsewhere:
        with pytest.raises(Refusal) as refused:
            await here.change(how, plan.id)
        assert refused.value.code is Code.NOT_FOUND
    assert [(await here.plan(elsewhere[0].id)).status, (await there.plan(elsewhere[1].id)).status] == ["ready", "ready"]


async def test_where_no_plan_fits_none_is_changed(planner: Planner) -> None:
    await planner.on()
    for how in ("approve", "resume"):
        with pytest.raises(Refusal) as refused:
            await planner.change(how)
        assert refused.value.code is Code.NOT_FOUND


@requirement("S3.plan.restart")
async def test_plan_mode_survives_a_restart(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        await Planner(engine).on()
        await Planner(engine).write()
        before = await Planner(engine).state()
    async with open_engine(store_url) as engine:
        assert await Planner(engine).state() == before
        assert await Planner(engine).planning()
        assert not await Planner(engine).planning(OTHER)


async def test_a_deleted_session_leaves_no_plan_mode_to_the_next_of_its_key(engine: Engine) -> None:
    here, there = Planner(engine), Planner(engine, await engine.another_account("other"))
    for planner in (here, there):
        await planner.on()
    await here.on(OTHER)
    await here.delete()
    assert not await here.planning()
    assert await here.planning(OTHER)
    assert await there.planning()
    assert (await here.state()).updated_at is None
    assert (await here.on()).enabled


async def test_every_change_is_told_with_the_state_and_the_active_plan(planner: Planner) -> None:
    await planner.on(OTHER)
    state = await planner.on()
    ((_, _, _), (name, key, body)) = await planner.told()
    told = body["planState"]
    assert (name, key) == ("plan_mode.enabled", str(CHAT))
    assert told["sessionIdentity"] == {"channelType": "web", "conversationKey": "conversation1"}
    assert (told["sessionId"], told["sessionKey"]) == ("conversation1", str(CHAT))
    assert (told["enabled"], told["activePlanId"]) == (True, state.active_plan_id)
    assert [plan["id"] for plan in told["plans"]] == [state.active_plan_id]


async def test_every_change_is_logged_with_its_session_and_plan(
    planner: Planner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="carrel.modes")
    await planner.on()
    written = await planner.write()
    await planner.on()
    await planner.off()
    logged = [vars(record) for record in caplog.records if record.name == "carrel.modes"]
    assert [record["message"] for record in logged] == ["plan_mode_enabled", "plan_mode_disabled"]
    for record in logged:
        assert (record["session_identity"], record["session_key"]) == ("web:conversation1", str(CHAT))
        assert (record["account_id"], record["agent_id"]) == (planner.access.account_id, "main")
        assert record["plan_id"] == written.id


def enablings(account: Access) -> Counter[tuple[str, str]]:
    """How often plan mode was switched on in an account, by channel and session."""
    found: Counter[tuple[str, str]] = Counter()
    for sample in METRICS.samples():
        labels = dict(sample.labels)
        if sample.name == "plan.mode.enabled.count" and sample.account_id == account.account_id:
            found[labels["channel"], labels["session"]] = int(sample.value)
    return found


@requirement("S3.metric.plan.enabled")
async def test_enablings_are_counted_by_channel_and_session(planner: Planner) -> None:
    before = enablings(planner.access)
    for key in (CHAT, CHAT, OTHER, MAIN):
        await planner.on(key)
    await planner.off()
    await planner.on()
    after = enablings(planner.access)
    counted = {labels: count for labels in after if (count := after[labels] - before[labels])}
    assert counted == {("web", "conversation1"): 2, ("web", "conversation2"): 1, ("main", "main"): 1}


@requirement("S3.metric.plan.active")
async def test_the_sessions_in_plan_mode_are_counted_for_each_account(engine: Engine) -> None:
    here, there = Planner(engine), Planner(engine, await engine.another_account("other"))
    for planner, key in ((here, CHAT), (here, OTHER), (here, MAIN), (there, CHAT)):
        await planner.on(key)
    await here.off(OTHER)
    await here.delete(MAIN)
    for planner in (here, there):
        (gauge,) = await engine.read(partial(plan_gauges, access=planner.access))
        assert (gauge.name, gauge.type, gauge.value) == ("plan.mode.active.sessions", "gauge", 1)

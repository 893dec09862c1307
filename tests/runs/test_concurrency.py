"""Concurrency: no more runs work for an agent or at a gateway than may, and the oldest lane comes first."""

import asyncio

from carrel.kernel import SessionKey, StoredStep, TurnExtras
from carrel.kernel.settings import RunsSettings, Settings
from carrel.main.assembly import open_store
from carrel.monitoring import explain
from carrel.records import finish_call, record_call
from carrel.runs import UNLIMITED, Claim, Completed, Concurrency, Run
from carrel.runs.claims import claim, claim_or_wait
from carrel.runs.dispatcher import Dispatcher
from carrel.runs.outcomes import Ending, settle_and_claim
from carrel.storage import Tx
from tests.harness.engine import LEASE_MS, MAIN, Engine, FakeClock, open_engine
from tests.requirements.mark import requirement

DONE = Completed(reply="done")
FOUR = Concurrency(gateways={"builtin": 4})
ONE_EACH = Concurrency(per_agent=1)
MANY = 100


def hook(name: str, agent: str = "main") -> SessionKey:
    return SessionKey.of(agent, f"hook:{name}")


async def take(engine: Engine, limits: Concurrency, limit: int = MANY, worker: str = "worker-1") -> list[Claim]:
    return await engine.db.write(lambda tx: claim(tx, worker, LEASE_MS, limit, limits))


async def end(engine: Engine, *held: Claim, limits: Concurrency) -> list[Claim]:
    """End runs, and claim as many."""
    ends: list[tuple[Claim, Ending]] = [(run, DONE) for run in held]
    return await engine.db.write(lambda tx: settle_and_claim(tx, ends, "worker-1", LEASE_MS, limits))


async def fill(engine: Engine, lanes: int = MANY, agent: str = "main") -> list[Run]:
    return [await engine.say(hook(f"lane-{at:03}", agent), "go on") for at in range(lanes)]


@requirement("P.concurrency.bound")
async def test_workers_that_claim_at_once_never_exceed_what_a_gateway_may_have(engine: Engine) -> None:
    await fill(engine, 20)
    taken = await asyncio.gather(*(take(engine, FOUR, 5, f"worker-{n}") for n in range(5)))
    held = [run for claims in taken for run in claims]
    assert len({run.id for run in held}) == len(held) == 4
    assert await take(engine, FOUR) == []
    following = await end(engine, held[0], held[1], limits=FOUR)
    assert len(following) == 2
    assert await take(engine, FOUR) == []


@requirement("P.concurrency.bound")
async def test_servers_that_claim_at_once_never_exceed_what_a_gateway_may_have(store_url: str) -> None:
    clock = FakeClock()
    async with open_engine(store_url, clock=clock) as engine:
        await fill(engine, 60)
        others = [open_store(store_url, durability="normal", clock=clock) for _ in range(3)]
        try:
            claims = await asyncio.gather(
                *(db.write(lambda tx: claim(tx, "worker", LEASE_MS, 5, FOUR)) for db in (engine.db, *others) * 3)
            )
        finally:
            for db in others:
                await db.close()
        assert sum(map(len, claims)) == 4


@requirement("P.concurrency.bound")
async def test_a_hundred_runs_on_two_servers_never_exceed_and_all_are_answered(engine: Engine) -> None:
    await fill(engine)
    at_work, most = 0, 0

    async def turn(_: Claim) -> Completed:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        for _turn in range(3):
            await asyncio.sleep(0)
        at_work -= 1
        return DONE

    settings = Settings(runs=RunsSettings(concurrency=16))
    async with asyncio.TaskGroup() as group:
        serving = [
            group.create_task(Dispatcher(engine.db, turn, settings, f"worker-{n}", lambda: FOUR).serve())
            for n in range(2)
        ]
        left = "SELECT 1 FROM runs WHERE state <> 'completed'"
        await engine.until(lambda tx: tx.one(left) is None)
        for one in serving:
            one.cancel()
    assert most == 4


@requirement("P.concurrency.bound")
async def test_an_agents_own_limit_holds_before_that_of_the_settings(engine: Engine) -> None:
    await engine.make_agent("pair", concurrency=2)
    await engine.make_agent("free", concurrency=0)
    for agent in ("main", "pair", "free"):
        await fill(engine, 5, agent)

    async def working(limits: Concurrency) -> dict[str, int]:
        held = await take(engine, limits)
        for run in held:
            await engine.end(run, DONE)
        return {agent: sum(run.agent_id == agent for run in held) for agent in ("main", "pair", "free")}

    assert await working(ONE_EACH) == {"main": 1, "pair": 2, "free": 5}
    assert await working(UNLIMITED) == {"main": 4, "pair": 2, "free": 0}


@requirement("P.concurrency.bound")
async def test_the_next_run_of_a_freed_lane_needs_a_place_too(engine: Engine) -> None:
    await engine.make_agent("solo", concurrency=1)
    for text in ("one", "two"):
        await engine.say(hook("busy", "solo"), text)
    (first,) = await take(engine, UNLIMITED)
    other = await engine.say(MAIN, "other")
    older = await engine.say(hook("older", "solo"), "older")
    free, held = await take(engine, UNLIMITED), first
    assert [run.id for run in free] == [other.id]
    (held,) = await end(engine, held, limits=UNLIMITED)
    assert held.id == older.id, "the oldest lane comes first"
    assert await take(engine, UNLIMITED) == []
    (last,) = await end(engine, held, limits=UNLIMITED)
    assert last.key == first.key


@requirement("P.concurrency.fair")
async def test_lanes_take_turns_however_much_waits_in_one_of_them(engine: Engine) -> None:
    limits = Concurrency(gateways={"builtin": 1})
    for n in range(5):
        await engine.say(hook("busy"), f"line {n}")
    for lane in ("one", "two"):
        await engine.say(hook(lane), "a single line")
    held, order = await take(engine, limits), []
    while held:
        order.append(held[0].session_key.rest)
        engine.advance(1)
        held = await end(engine, *held, limits=limits)
    names = [lane.rsplit(":", 1)[-1] for lane in order]
    assert names == ["busy", "one", "two", "busy", "busy", "busy", "busy"]


@requirement("P.concurrency.fair")
async def test_heads_that_wait_for_a_place_hold_up_nobody_else(engine: Engine) -> None:
    limits = Concurrency(gateways={"slow": 1})
    await engine.make_agent("slow", gateway="slow")
    await fill(engine, 30, "slow")
    young = await engine.say(MAIN, "young")
    held = await take(engine, limits, 3)
    assert [run.agent_id for run in held] == ["slow", "main"]
    assert held[1].id == young.id


@requirement("P.concurrency.lost")
async def test_a_worker_that_is_lost_gives_its_places_back(engine: Engine) -> None:
    await fill(engine, 6)
    assert len(await take(engine, FOUR)) == 4
    assert await take(engine, FOUR, worker="worker-2") == []
    engine.advance(LEASE_MS / 1000 + 1)
    await engine.rescue()
    assert len(await take(engine, FOUR, worker="worker-2")) == 4


@requirement("P.concurrency.lent")
async def test_a_run_that_waits_for_another_lends_its_place_until_that_one_has_settled(engine: Engine) -> None:
    await engine.say(MAIN, "ask another")
    (asking,) = await take(engine, ONE_EACH)
    asked, more = await engine.say(hook("asked"), "answer"), await engine.say(hook("more"), "more")

    def wait(tx: Tx) -> None:
        until = tx.now + 60_000
        record_call(tx, asking.access, asking.id, "1", tool="send", effect="write", result="", wait=(asked.id, until))

    await engine.db.write(wait)
    (answering,) = await take(engine, ONE_EACH)
    assert answering.id == asked.id
    assert await end(engine, answering, limits=ONE_EACH) == [], "who asked works again"
    await engine.db.write(lambda tx: finish_call(tx, asking.access, asking.id, "1", "answered"))
    (last,) = await end(engine, asking, limits=ONE_EACH)
    assert last.id == more.id


@requirement("P.concurrency.bound")
async def test_a_run_that_repeats_a_step_elsewhere_takes_its_place_there(engine: Engine) -> None:
    limits = Concurrency(gateways={"builtin": 1, "other": 1})
    extras = TurnExtras(replays=StoredStep(run_id="run_1", n=1, gateway="other"))
    for at in range(2):
        await engine.say(hook(f"replay-{at}"), "again", extras=extras)
    ordinary = await engine.say(MAIN, "hello")
    held = await take(engine, limits)
    assert [run.id for run in held][1:] == [ordinary.id]
    assert len(held) == 2


@requirement("P.concurrency.why")
async def test_a_run_without_a_place_says_where_it_waits_for_one(engine: Engine) -> None:
    runs = await fill(engine, 5)
    behind = await engine.say(runs[-1].session_key, "behind")
    await take(engine, FOUR)

    async def told(run: Run, limits: Concurrency) -> str:
        now = await engine.run(run.id)
        why = await engine.db.read(lambda tx: explain(tx, engine.access, now, limits))
        return why.reasons[0].text if why.reasons else ""

    assert await told(runs[-1], FOUR) == "This run waits for a slot at gateway builtin (4 of 4 in use)."
    place = "waits for a slot at gateway builtin (4 of 4 in use)."
    assert (await told(behind, FOUR)).endswith(f"run {runs[-1].id} {place}")
    assert "of agent Main (1 of 1 in use)" in await told(runs[-1], ONE_EACH)
    assert "place" not in await told(runs[-1], UNLIMITED)


async def test_who_found_no_place_looks_again_soon_but_not_at_once(engine: Engine) -> None:
    await fill(engine, 5)
    await take(engine, FOUR)
    claimed, look_at = await engine.db.write(lambda tx: claim_or_wait(tx, "worker-2", LEASE_MS, 9, FOUR))
    now = await engine.db.read(lambda tx: tx.now)
    assert claimed == []
    assert look_at is not None
    assert now < look_at <= now + 500

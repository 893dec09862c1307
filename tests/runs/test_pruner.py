"""Ended runs are removed after their retention, live ones never."""

from carrel.kernel.settings import A2aSettings, A2aTasksSettings, RunsSettings, Settings
from carrel.runs import (
    NeedsInput,
    Outcome,
)
from carrel.runs.model import Cancelled
from carrel.runs.pruner import prune
from tests.harness.engine import DONE, MAIN, Engine, lane_key
from tests.requirements.mark import requirement
from tests.runs.test_outcomes import REFUSED


@requirement("S1.ttl.default", "S1.ttl.all.ends")
async def test_ended_runs_are_pruned_after_their_retention_and_live_ones_never(engine: Engine) -> None:
    ends: dict[str, Outcome] = {"completed": DONE, "failed": REFUSED, "cancelled": Cancelled(reason="stopped")}
    ended = []
    for name, outcome in ends.items():
        ended.append(await engine.say(lane_key(name), name, kind="a2a"))
        await engine.end(await engine.take_one(), outcome)
    await engine.say(lane_key("waiting"), "waiting", kind="a2a")
    await engine.end(await engine.take_one(), NeedsInput(question="?"))
    await engine.say(lane_key("working"), "working", kind="a2a")
    await engine.take_one()
    await engine.say(lane_key("working"), "queued", kind="a2a")
    settings = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(ttl_days=7)), runs=RunsSettings(waiting_days=0))

    async def texts_left() -> set[str]:
        await engine.db.write(lambda tx: prune(tx, settings))
        return {row[0] for row in await engine.db.read(lambda tx: tx.all("SELECT text FROM runs"))}

    engine.advance(7 * 86_400)
    assert len(await texts_left()) == 6
    engine.advance(1)
    assert await texts_left() == {"waiting", "working", "queued"}


async def test_a_ttl_of_zero_keeps_runs_forever(engine: Engine) -> None:
    run = await engine.say(MAIN, "keep", kind="a2a")
    await engine.end(await engine.take_one())
    engine.advance(36_000 * 86_400)
    keeping = Settings(a2a=A2aSettings(tasks=A2aTasksSettings(ttl_days=0)))
    await engine.db.write(lambda tx: prune(tx, keeping))
    assert (await engine.run(run.id)).state == "completed"

"""Usage is kept for long, and not for ever."""

from carrel.kernel.limits import USAGE_DAYS_KEPT
from carrel.usage import UsageFilter, prune_usage
from carrel.usage.model import Tally
from carrel.usage.store import Spender, add_usage, usage_by
from tests.harness.engine import Engine

DAY_SECONDS = 86_400


async def test_usage_goes_when_it_is_old(engine: Engine) -> None:
    spender = Spender(key="agent:main:main", agent_id="main", task_id="", model="m")
    used = Tally(runs=1, input_tokens=3, output_tokens=2)
    for _ in range(2):
        await engine.db.write(lambda tx: add_usage(tx, engine.access, spender, used))

    async def runs() -> list[int]:
        wanted = UsageFilter(since=0, until=engine.clock.now_ms())
        found = await engine.read(lambda tx: usage_by(tx, engine.access, wanted, ("day",), limit=10))
        return [tally.runs for _, _, tally in found]

    assert await runs() == [2]
    engine.advance(USAGE_DAYS_KEPT * DAY_SECONDS)
    assert await engine.db.write(lambda tx: prune_usage(tx, engine.access)) == 0
    engine.advance(DAY_SECONDS)
    assert await engine.db.write(lambda tx: prune_usage(tx, engine.access)) == 1
    assert await runs() == []

"""What a run may see of the board: no more than its agent."""

from pathlib import Path

from carrel.kernel import SessionKey
from tests.delivery.test_lock_order import snapshot_of
from tests.harness.engine import open_engine


async def test_a_run_sees_the_spaces_of_its_agent(sqlite_url: str, tmp_path: Path) -> None:
    async with open_engine(sqlite_url) as engine:
        await engine.make_agent("writer", space_ids=("space-a",))
        await engine.say(SessionKey("writer", "main"), "hello")
        snapshot = await snapshot_of(engine, await engine.take_one(), tmp_path)
        assert snapshot.access.space_ids == snapshot.caller.access.space_ids == ("space-a",)

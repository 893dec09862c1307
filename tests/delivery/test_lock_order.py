"""A turn and a cancel of the same run meet: both take the lane first, so neither waits for the other."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from carrel.delivery import BUILTIN, Connection
from carrel.delivery.request import build_request
from carrel.delivery.snapshot import Snapshot, read_snapshot
from carrel.delivery.step import make_call, prepare
from carrel.gateway import BuiltinGateway
from carrel.journal import Entry
from carrel.kernel import Provenance
from carrel.kernel.settings import DeliverySettings, GatewaySettings
from carrel.runs import Claim, ClaimLost, cancel
from carrel.sessions import lock_lane
from carrel.storage import Tx
from carrel.tools import CATALOG, ToolServices, prepare_call
from tests.harness.engine import MAIN, SECONDS_MAX, Engine, open_engine
from tests.tools.spawning import settings_in


async def test_a_first_hearing_and_a_cancel_never_wait_for_each_other(postgres_url: str, tmp_path: Path) -> None:
    async with open_engine(postgres_url) as engine:
        run = await engine.say(MAIN, "hello")
        held = await engine.take_one()
        hear = await hearing(engine, held, tmp_path)
        begun, calls = await meet(engine, run.id, hear)
        assert isinstance(begun, ClaimLost)
        assert sorted(calls) == ["begin", "cancel"]
        assert (await engine.run(run.id)).session_id is None


async def test_a_spawn_and_a_cancel_of_its_turn_never_wait_for_each_other(postgres_url: str, tmp_path: Path) -> None:
    async with open_engine(postgres_url) as engine:
        run = await engine.say(MAIN, "hello")
        held = await engine.take_one()
        await engine.db.write(await hearing(engine, held, tmp_path))
        snapshot = await snapshot_of(engine, held, tmp_path)
        call, arguments = spawning(), '{"task":"count the sheep"}'
        async with prepare_call(engine.db, CATALOG, snapshot.caller, "sessions_spawn", arguments) as prepared:
            begun, calls = await meet(
                engine, run.id, lambda tx: make_call(tx, held, snapshot, call, arguments, prepared)
            )
        assert isinstance(begun, ClaimLost)
        assert sorted(calls) == ["begin", "cancel"]


async def snapshot_of(engine: Engine, held: Claim, folder: Path) -> Snapshot:
    """What is stored of a run that is being worked on."""
    services = ToolServices(settings=settings_in(folder), rules=engine.rules)
    connections = {BUILTIN: Connection(BuiltinGateway("builtin"), GatewaySettings())}
    return await engine.db.long_read(lambda tx: read_snapshot(tx, held, services, connections))


async def hearing(engine: Engine, held: Claim, folder: Path) -> Callable[[Tx], object]:
    """The transaction by which a run's first step is prepared."""
    snapshot = await snapshot_of(engine, held, folder)
    request = build_request(snapshot, DeliverySettings(), history_chars_max=1_000)
    return lambda tx: prepare(tx, held, snapshot, request, "")


def spawning() -> Entry:
    """A call of sessions_spawn as a turn has written it down."""
    return Entry(
        seq=1,
        id="ent_call",
        type="action",
        role="toolCall",
        content="",
        details={"callId": "call", "name": "sessions_spawn", "arguments": "{}", "step": 1},
        key=str(MAIN),
        session_id=None,
        run_id=None,
        agent_id="main",
        author="main",
        provenance=Provenance(kind="internal_system"),
        message_id=None,
        channel=None,
        attachment_ids=(),
        created_at=0,
    )


async def meet(engine: Engine, run_id: str, begin: Callable[[Tx], object]) -> tuple[object, list[str]]:
    """Let something of a turn begin while a cancel of its run holds the lane; how it ended, and who began how often."""
    lane_is_held = threading.Event()
    calls: list[str] = []

    def stop(tx: Tx) -> None:
        calls.append("cancel")
        lock_lane(tx, engine.access, str(MAIN))
        lane_is_held.set()
        # Looking is all the waiting there is: until the other stands before the lane.
        for _ in range(100_000):
            if tx.one("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1"):
                break
        else:
            raise AssertionError("the other never came to the lane")
        cancel(tx, engine.access, run_id, "stopped")

    def begun(tx: Tx) -> object:
        calls.append("begin")
        assert lane_is_held.wait(SECONDS_MAX)
        return begin(tx)

    stopped, ended = await asyncio.gather(engine.db.write(stop), engine.db.write(begun), return_exceptions=True)
    assert stopped is None
    return ended, calls

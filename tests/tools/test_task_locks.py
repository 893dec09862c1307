"""A tool that changes a task meets people who change it: both lock the task first, so neither waits for the other."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.delivery import BUILTIN, Connection
from carrel.delivery.request import build_request
from carrel.delivery.snapshot import Snapshot, read_snapshot
from carrel.delivery.step import make_call, prepare
from carrel.gateway import BuiltinGateway
from carrel.journal import Entry
from carrel.kernel import Provenance, SessionKey
from carrel.kernel.settings import DeliverySettings, GatewaySettings, Settings
from carrel.runs import Claim, ClaimLost
from carrel.storage import Tx
from carrel.tools import ToolServices, prepare_call
from carrel.work import move_task, stop_task
from tests.harness.engine import SECONDS_MAX
from tests.tools.task_world import TaskWorld, open_world

ROUNDS = 40


async def snapshot_of(world: TaskWorld, held: Claim) -> Snapshot:
    """What is stored of a run that is being worked on."""
    services = ToolServices(settings=Settings(), rules=world.engine.rules)
    connections = {BUILTIN: Connection(BuiltinGateway("builtin"), GatewaySettings())}
    return await world.engine.db.long_read(lambda tx: read_snapshot(tx, held, services, connections))


async def heard(world: TaskWorld, task_id: str) -> tuple[Claim, Snapshot]:
    """A run of the reviewer on a task, claimed and heard."""
    engine = world.engine
    await engine.say(SessionKey.of("reviewer", f"task:{task_id}"), "finish it", access=world.owner)
    (held,) = [one for one in await engine.take(50) if one.agent_id == "reviewer"]
    snapshot = await snapshot_of(world, held)
    request = build_request(snapshot, DeliverySettings(), history_chars_max=1_000)
    await engine.db.write(lambda tx: prepare(tx, held, snapshot, request, ""))
    return held, await snapshot_of(world, held)


def calling(name: str) -> Entry:
    """A call as a turn has written it down."""
    details = {"callId": "call", "name": name, "arguments": "{}", "step": 1}
    source = Provenance(kind="internal_system")
    return Entry(
        seq=1, id="ent_call", type="action", role="toolCall", content="", details=details, key="", session_id=None,
        run_id=None, agent_id="reviewer", author="reviewer", provenance=source, message_id=None, channel=None,
        attachment_ids=(), created_at=0,
    )  # fmt: skip


async def race(world: TaskWorld, task_id: str, outside: Callable[[Tx], object]) -> tuple[object, object, list[str]]:
    """Let task_status(done) and something from outside begin at once; how both ended, and who began how often."""
    held, snapshot = await heard(world, task_id)
    arguments, began = json.dumps({"taskId": task_id, "status": "done"}), list[str]()

    def done(tx: Tx) -> object:
        began.append("tool")
        return make_call(tx, held, snapshot, calling("task_status"), arguments, prepared)

    def other(tx: Tx) -> object:
        began.append("person")
        return outside(tx)

    db = world.engine.db
    async with (
        asyncio.timeout(SECONDS_MAX),
        prepare_call(db, snapshot.toolset, snapshot.caller, "task_status", arguments) as prepared,
    ):
        made, acted = await asyncio.gather(db.write(done), db.write(other), return_exceptions=True)
    return made, acted, began


async def in_review(world: TaskWorld) -> str:
    """A task in review that the reviewer and the writer are assigned to, with runs that wait for both."""
    task = await world.task(assigned_agent_ids=("writer", "reviewer"))

    def walk(tx: Tx) -> None:
        move_task(tx, world.owner, task.id, "review", world.engine.rules, walk=True)

    await world.engine.db.write(walk)
    return task.id


@pytest.mark.parametrize("what", ["stop", "done"])
async def test_a_task_moved_by_a_tool_and_from_outside_at_once_ends_well_many_times(
    postgres_url: str, tmp_path: Path, what: str
) -> None:
    async with open_world(postgres_url, real=True) as world:
        rules = world.engine.rules
        for _ in range(ROUNDS):
            task_id = await in_review(world)

            def outside(tx: Tx, task_id: str = task_id) -> object:
                if what == "stop":
                    return stop_task(tx, world.owner, task_id, rules)
                return move_task(tx, world.owner, task_id, "done", rules)

            made, acted, began = await race(world, task_id, outside)
            assert sorted(began) == ["person", "tool"], "nobody had to begin again"
            assert not isinstance(acted, BaseException), acted
            assert not isinstance(made, BaseException) or isinstance(made, ClaimLost), made
            status = (await world.stored(task_id)).status
            assert status == "done" if what == "done" else status in ("blocked", "done")

"""Delivery: telling twenty agents of one message over HTTP, and building a request beside a thread of any length."""

import socket
import tempfile
from pathlib import Path

import uvloop

from bench.engine import BenchEngine, open_bench
from bench.figures import Figure, at_most, compared, tell
from bench.turns import Connection
from carrel.delivery import BUILTIN
from carrel.delivery import Connection as Gateway
from carrel.delivery.request import build_request
from carrel.delivery.snapshot import read_short_snapshot
from carrel.gateway import BuiltinGateway
from carrel.journal import NewEntry, append_entry
from carrel.kernel import Provenance, SessionKey, elapsed_seconds
from carrel.kernel.settings import GatewaySettings, Settings
from carrel.main.assembly import rules_of
from carrel.runs import Claim
from carrel.storage import Tx
from carrel.tools import ToolServices
from carrel.work import NewTask, create_task
from tests.harness.process import RunningServer, clean_environment

NAME = "delivery"
AGENTS = 20
POSTS = 30
BUILDS = 200
THREADS = (10, 1_000, 100_000)
ENTRIES_AT_A_TIME = 5_000


def measure(durability: str) -> list[Figure]:
    """A message that notifies 20 agents beside 20 messages, and requests beside long threads."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-delivery-") as name:
        builds = Path(name) / "builds"
        builds.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            told = uvloop.run(_fan_out(Path(name), durability, silent.getsockname()[1]))
        return [told, *uvloop.run(_builds(builds, durability))]


async def _fan_out(folder: Path, durability: str, silent_port: int) -> Figure:
    tell(f"delivery: {POSTS} messages that notify {AGENTS} agents, and as many runs one by one")
    # The one slot is taken by a run whose model never answers, so that nothing runs beside what is measured.
    environment = clean_environment(
        folder,
        CARREL_STORAGE__DURABILITY=durability,
        CARREL_LOG__LEVEL="warning",
        CARREL_RUNS__CONCURRENCY="1",
        CARREL_GATEWAY__DEFAULT__KIND="responses",
        CARREL_GATEWAY__DEFAULT__BASE_URL=f"http://127.0.0.1:{silent_port}",
    )
    server = RunningServer(folder, environment)
    try:
        client = await Connection.open(server)
        agents = [f"agent-{number:02}" for number in range(AGENTS)]
        for agent in agents:
            await client.ask("POST", "/api/agents", {"id": agent, "name": agent.title()})
        await client.ask("POST", "/api/tasks", {"id": "busy", "title": "Busy", "assignedAgentIds": agents})
        pairs = [(await _told(client), await _one_by_one(client, agents)) for _ in range(POSTS)]
    finally:
        server.close()
    named = f"one message until {AGENTS} agents have a run queued"
    return compared(NAME, named, "ms", pairs, yardstick=f"{AGENTS} runs queued one by one", bar=at_most(0.5))


async def _told(client: Connection) -> float:
    """Milliseconds until a message is posted and a run is queued for every agent."""
    begun = elapsed_seconds()
    # Mentions are never joined to a run that waits.
    posted = await client.ask("POST", "/api/tasks/busy/messages", {"content": "@all What is missing?"})
    took = (elapsed_seconds() - begun) * 1000
    runs = {told.get("runId") for told in posted["notified"] if told["kind"] == "agent"} - {None}
    assert len(runs) >= AGENTS, posted["notified"]
    return took


async def _one_by_one(client: Connection, agents: list[str]) -> float:
    """Milliseconds until the same agents have a run queued each, by a request each."""
    begun = elapsed_seconds()
    for agent in agents:
        await client.ask("POST", "/api/runs", {"agentId": agent, "taskId": "busy", "message": "What is missing?"})
    return (elapsed_seconds() - begun) * 1000


async def _builds(folder: Path, durability: str) -> list[Figure]:
    async with open_bench(folder, durability) as made:
        claims = []
        for count in THREADS:
            tell(f"delivery: a thread of {count:,} messages")
            claims.append(await _claim_beside(made, count))
        tell(f"delivery: {BUILDS} requests beside each")
        rounds = [[await _build(made, claim) for claim in claims] for _ in range(BUILDS)]
    shortest = f"beside a thread of {THREADS[0]}"
    return [
        compared(
            NAME, f"request beside a thread of {count:,}", "ms", [(times[at], times[0]) for times in rounds],
            yardstick=shortest, bar=at_most(1.5),
        )
        for at, count in enumerate(THREADS[1:], 1)
    ]  # fmt: skip


async def _claim_beside(made: BenchEngine, count: int) -> Claim:
    """Create a task with a long thread; return a claimed run about it."""
    task_id = f"thread-{count}"

    def create(tx: Tx) -> None:
        create_task(tx, made.access, NewTask(id=task_id, title="A long talk"), made.rules)

    def write(tx: Tx) -> None:
        for _ in range(min(count, ENTRIES_AT_A_TIME)):
            append_entry(tx, made.access, _message(task_id))

    await made.db.write(create)
    for _ in range(-(-count // ENTRIES_AT_A_TIME)):
        await made.db.write(write)
    await made.say(SessionKey.of("main", f"task:{task_id}"), "What is missing?", task_id=task_id)
    return await made.take_one()


def _message(task_id: str) -> NewEntry:
    return NewEntry(
        type="conversation",
        role="user",
        content="The second chapter is missing; the others are there. " * 4,
        author="user",
        author_kind="user",
        provenance=Provenance(kind="external_user"),
        task_id=task_id,
        task_view="thread",
    )


async def _build(made: BenchEngine, claim: Claim) -> float:
    """Milliseconds to read what a step needs and to build its request, as a turn does."""
    settings = Settings()
    services = ToolServices(settings=settings, rules=rules_of(settings))
    connections = {BUILTIN: Gateway(BuiltinGateway(BUILTIN), GatewaySettings())}
    begun = elapsed_seconds()
    snapshot = await made.db.read(lambda tx: read_short_snapshot(tx, claim, services, connections))
    assert snapshot is not None, "the session itself is short"
    request = build_request(snapshot, settings.delivery, history_chars_max=settings.delivery.history_chars_max)
    assert request.body
    return (elapsed_seconds() - begun) * 1000

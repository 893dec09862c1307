"""Connectors: a call of an MCP server's tool as a turn makes it, beside one by the official client to the same program.

Ours is begun and ended in two transactions. Processor time counts: ours and the program's.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

import uvloop
from mcp import Client, StdioServerParameters

from bench.engine import open_bench
from bench.figures import Figure, at_most, compared, tell
from carrel.agents import agent_by_id
from carrel.connectors import Connectors
from carrel.connectors.tools import offered_names
from carrel.kernel import SessionKey, elapsed_seconds
from carrel.kernel.settings import McpServerSettings, Settings
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.tools import (
    BegunCall,
    Caller,
    ToolServices,
    begin_remote,
    caller_at,
    catalog_for,
    end_remote,
    toolset_for,
)
from tests.harness.engine import Engine

NAME = "connectors"
CALLS = 300
WARM_CALLS = 30
REPEATS = 5
DIRECT = "the official client alone"
# The official server, over stdio.
_PEER = ("-c", "from bench.mcp_peer import peer; peer.run()")
(_TOOL,) = offered_names("peer", ["nothing"])
Call = Callable[[int], Awaitable[object]]


def measure(durability: str) -> list[Figure]:
    """Every figure of this benchmark."""
    return uvloop.run(_figures(durability))


async def _figures(durability: str) -> list[Figure]:
    tell("connectors: one call after another, in turn")
    spent = [(await _ours(durability), await _direct()) for _ in range(REPEATS)]
    cores = [(one[0], other[0]) for one, other in spent]
    waits = [(one[1], other[1]) for one, other in spent]
    return [
        compared(NAME, "a call in a turn", "core-ms", cores, yardstick=DIRECT, bar=at_most(1.3)),
        compared(NAME, "a call in a turn, mean wait", "ms", waits, yardstick=DIRECT),
    ]


async def _direct() -> tuple[float, float]:
    program = StdioServerParameters(command=sys.executable, args=list(_PEER), env=dict(os.environ))
    async with Client(program) as client:
        return await _spent(lambda _: client.call_tool("nothing", {}))


async def _ours(durability: str) -> tuple[float, float]:
    server = McpServerSettings(command=sys.executable, args=_PEER)
    connectors = Connectors({"peer": server})
    settings = Settings(mcp={"peer": server})
    with tempfile.TemporaryDirectory(prefix="carrel-bench-connectors-") as folder:
        async with open_bench(Path(folder), durability) as engine, asyncio.TaskGroup() as group:
            serving = group.create_task(connectors.serve())
            services = ToolServices(settings=settings, rules=engine.rules, connectors=connectors)
            call = await _turn(engine, services)
            spent = await _spent(call)
            serving.cancel()
    return spent


async def _turn(engine: Engine, services: ToolServices) -> Call:
    """Return what makes one call of a run, as a turn does."""
    agent_id = await engine.make_agent("handy", mcp=("peer",))
    await engine.say(SessionKey.of(agent_id, "main"), "call it")
    held = await engine.take_one()
    run = await engine.run(held.id)

    def read(tx: Tx) -> Caller:
        agent, lane = agent_by_id(tx, engine.access, agent_id), lane_of(tx, engine.access, run.session_key)
        assert agent is not None, "it was made"
        assert lane is not None, "it has a run"
        return caller_at(tx, services, engine.access, agent, lane, run=run)

    caller = await engine.read(read)
    toolset = toolset_for(await catalog_for(engine.db, services, engine.access, agent_id, nullcontext), caller)

    async def call(number: int) -> object:
        key = f"{number}:call"
        begun = await engine.db.write(lambda tx: begin_remote(tx, toolset, caller, key, _TOOL, "{}"))
        assert isinstance(begun, BegunCall), begun
        made = await begun.make(services)
        return await engine.db.write(lambda tx: end_remote(tx, caller, key, begun, made))

    return call


async def _spent(call: Call) -> tuple[float, float]:
    """Return the processor time and the wait of a call, in milliseconds, after some that are not counted."""
    for number in range(WARM_CALLS):
        await call(-number - 1)
    before, begun = _cpu_seconds(), elapsed_seconds()
    for number in range(CALLS):
        await call(number)
    waited = elapsed_seconds() - begun
    return (_cpu_seconds() - before) * 1000 / CALLS, waited * 1000 / CALLS


def _cpu_seconds() -> float:
    """Return the processor time of this process and of the programs that it has started and that still run."""
    own = os.times()
    tasks = Path("/proc/self/task").glob("*/children")
    children = [pid for task in tasks for pid in task.read_text(encoding="ascii").split()]
    ticks = sum(_ticks(pid) for pid in children)
    return own.user + own.system + ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: str) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])

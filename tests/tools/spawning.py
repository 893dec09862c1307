"""What the tests of spawning share: a store without a worker, and a caller from which sub-agents are spawned."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import structs

from carrel.agents import agent_by_id
from carrel.exchanges import Exchange, exchange_after
from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import GatewaySettings, Settings, StorageSettings
from carrel.runs import Run, cancel, run_by_id
from carrel.sessions import Lane, lane_of, make_lane
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Readied, Toolset, hold_caller, ready_for, run_caller, toolset_for
from tests.delivery.floor import Floor, open_floor


class Requester:
    """An agent at one of its lanes, outside of any run."""

    def __init__(self, floor: Floor, caller: Caller) -> None:
        self.floor = floor
        self.caller = caller

    @property
    def toolset(self) -> Toolset:
        return toolset_for(CATALOG, self.caller)

    async def call(self, name: str, arguments: dict[str, Any], toolset: Toolset | None = None) -> dict[str, Any]:
        """What a tool answers to a call from this caller; Refusal where it is refused."""
        offered, written = toolset or self.toolset, json.dumps(arguments)

        def work(tx: Tx, readied: Readied | None) -> dict[str, Any]:
            hold_caller(tx, self.caller, readied)
            tool = offered.find(name)
            params = readied.params if readied is not None else tool.read_params(written)
            return tool.act(tx, self.caller, params).value

        async with ready_for(self.floor.db, offered, self.caller, name, written) as readied:
            return await self.floor.db.write(lambda tx: work(tx, readied))

    async def spawn(self, task: str = "count the sheep", **params: Any) -> dict[str, Any]:
        """What sessions_spawn answers."""
        return await self.call("sessions_spawn", {"task": task, **params})

    async def exchange(self, run_id: str) -> Exchange:
        """What follows after a spawn, by the child's run."""
        found = await self.floor.read(lambda tx: exchange_after(tx, self.caller.access, run_id))
        assert found is not None
        return found

    async def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        await self.floor.db.write(lambda tx: cancel(tx, self.floor.access, run_id, "stopped"))

    async def lane(self, key: str) -> Lane:
        """A lane by its key."""
        found = await self.floor.read(lambda tx: lane_of(tx, self.caller.access, SessionKey.parse(key)))
        assert found is not None
        return found

    async def run(self, run_id: str) -> Run:
        """A run by its id."""
        found = await self.floor.read(lambda tx: run_by_id(tx, self.caller.access, run_id))
        assert found is not None
        return found

    async def lanes(self) -> list[str]:
        """The keys of all sub-agents' lanes."""
        return [
            row[0] for row in await self.floor.read(lambda tx: tx.all("SELECT key FROM lanes WHERE kind='subagent'"))
        ]


def settings_in(folder: Path, **sections: Any) -> Settings:
    """Settings whose files lie in a folder of the test."""
    return Settings(storage=StorageSettings(data_dir=folder), **sections)


async def requester_at(floor: Floor, agent_id: str = "main", rest: str = "main", kind: str = "agent") -> Requester:
    """An agent sitting at a lane, which is made where it is missing; `kind` owner is a person sitting there."""
    key = SessionKey.of(agent_id, rest)
    actor = {"kind": kind, "actor_id": agent_id, "agent_id": agent_id} if kind == "agent" else {"kind": kind}
    access: Access = structs.replace(floor.access, **actor)
    await floor.db.write(lambda tx: make_lane(tx, floor.access, key))

    def sit(tx: Tx) -> Caller:
        agent, lane = agent_by_id(tx, access, agent_id), lane_of(tx, access, key)
        assert agent is not None
        assert lane is not None
        return run_caller(floor.surroundings, access, agent, lane, None, None)

    return Requester(floor, await floor.read(sit))


@asynccontextmanager
async def open_requester(
    url: str, settings: Settings, gateways: dict[str, GatewaySettings] | None = None
) -> AsyncIterator[Requester]:
    """Agent main at its main lane; nothing that is said is worked on."""
    async with open_floor(url, gateways, settings, working=False) as floor:
        yield await requester_at(floor)

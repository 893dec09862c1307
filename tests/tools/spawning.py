"""A requester that spawns sub-agents, on a server that works on nothing."""

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
from carrel.sessions import Lane, lane_of, make_lane
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Preparation, Toolset, caller_at, lock_caller, prepare_call, toolset_for
from tests.harness.server import Server, open_server


class Requester:
    """An agent in one of its lanes, outside of any run."""

    def __init__(self, server: Server, caller: Caller) -> None:
        self.server = server
        self.caller = caller

    @property
    def toolset(self) -> Toolset:
        return toolset_for(CATALOG, self.caller)

    async def call(self, name: str, arguments: dict[str, Any], toolset: Toolset | None = None) -> dict[str, Any]:
        """Return what a tool answers this caller; raise Refusal where it refuses."""
        offered, written = toolset or self.toolset, json.dumps(arguments)

        def work(tx: Tx, prepared: Preparation | None) -> dict[str, Any]:
            lock_caller(tx, self.caller, prepared)
            tool = offered.find(name)
            params = prepared.params if prepared is not None else tool.read_params(written)
            return tool.act(tx, self.caller, params).value

        async with prepare_call(self.server.db, offered, self.caller, name, written) as prepared:
            return await self.server.db.write(lambda tx: work(tx, prepared))

    async def spawn(self, task: str = "count the sheep", **params: Any) -> dict[str, Any]:
        """Return what sessions_spawn answers."""
        return await self.call("sessions_spawn", {"task": task, **params})

    async def exchange(self, run_id: str) -> Exchange:
        """Return what follows after a spawn, by the child's run."""
        found = await self.server.read(lambda tx: exchange_after(tx, self.caller.access, run_id))
        assert found is not None
        return found

    async def lane(self, key: str) -> Lane:
        """Return a lane by its key."""
        found = await self.server.read(lambda tx: lane_of(tx, self.caller.access, SessionKey.parse(key)))
        assert found is not None
        return found

    async def lanes(self) -> list[str]:
        """Return the keys of all sub-agents' lanes."""
        return [
            key for (key,) in await self.server.read(lambda tx: tx.all("SELECT key FROM lanes WHERE kind='subagent'"))
        ]


def settings_in(folder: Path, **sections: Any) -> Settings:
    """Return settings that keep files in a folder of the test."""
    return Settings(storage=StorageSettings(data_dir=folder), **sections)


async def requester_at(server: Server, agent_id: str = "main", rest: str = "main", kind: str = "agent") -> Requester:
    """Return an agent in a lane, which is created where it is missing; with `kind` owner, a person in that lane."""
    key = SessionKey.of(agent_id, rest)
    actor = {"kind": kind, "actor_id": agent_id, "agent_id": agent_id} if kind == "agent" else {"kind": kind}
    access: Access = structs.replace(server.access, **actor)
    await server.db.write(lambda tx: make_lane(tx, server.access, key))

    def caller_of(tx: Tx) -> Caller:
        agent, lane = agent_by_id(tx, access, agent_id), lane_of(tx, access, key)
        assert agent is not None
        assert lane is not None
        return caller_at(tx, server.services.tool_services, access, agent, lane)

    return Requester(server, await server.read(caller_of))


@asynccontextmanager
async def open_requester(
    url: str, settings: Settings, gateways: dict[str, GatewaySettings] | None = None
) -> AsyncIterator[Requester]:
    """Agent main in its main lane; nothing that is sent is worked on."""
    async with open_server(url, gateways, settings, working=False) as server:
        yield await requester_at(server)

"""A caller of tools during a turn."""

import json
from typing import Any

from carrel.agents import agent_by_id
from carrel.runs import Run
from carrel.sessions import Session, lane_of
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Result, ToolServices, Toolset, call_tool, caller_at
from tests.harness.server import Server


class TurnCaller:
    """A caller during a turn, and the calls it makes."""

    def __init__(self, server: Server, run: Run, caller: Caller) -> None:
        self.server = server
        self.run = run
        self.caller = caller

    async def call(
        self, name: str, arguments: Any, call_id: str = "1:call", toolset: Toolset = CATALOG
    ) -> tuple[dict[str, Any], Result]:
        """Return what the model gets for a call, and the result behind it."""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        text, result = await self.server.db.write(
            lambda tx: call_tool(tx, toolset, self.caller, call_id, name, written)
        )
        answer: dict[str, Any] = json.loads(text)
        return answer, result


def caller_of(tx: Tx, server: Server, run: Run, session: Session) -> Caller:
    """Return the caller for a run's agent."""
    agent = agent_by_id(tx, server.access, run.agent_id)
    lane = lane_of(tx, server.access, run.session_key)
    assert agent is not None
    assert lane is not None
    services = ToolServices(settings=server.settings, rules=server.rules)
    return caller_at(tx, services, server.access, agent, lane, run=run, session=session)

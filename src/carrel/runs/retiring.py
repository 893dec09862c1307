"""Retiring an agent: nothing of what waits for it is ever started, in one transaction with its being disabled."""

from typing import Final

from msgspec import structs

from carrel.kernel import Access
from carrel.runs.stopping import stop_lane
from carrel.sessions import Agent, change_agent, close_generation, lanes_of_agent, require_agent
from carrel.storage import Tx

_REASON: Final = "agent_disabled"


def retire_agent(tx: Tx, access: Access, agent_id: str) -> Agent:
    """Disable an agent, cancel what was said to it and has not ended, and close its sessions."""
    agent = require_agent(tx, access, agent_id)
    retired = change_agent(tx, access, structs.replace(agent, enabled=False)) if agent.enabled else agent
    for lane in lanes_of_agent(tx, access, agent.id):
        # Lanes spawned from these may belong to agents that stay.
        stop_lane(tx, access, lane.key, _REASON, descendants=False)
        close_generation(tx, access, lane.session_key, _REASON)
    return retired

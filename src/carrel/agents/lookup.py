"""Finding the agent that a caller means, within what the caller may address."""

from carrel.access import account_of
from carrel.agents.model import MAIN_AGENT, Agent
from carrel.agents.store import agent_by_slug, every_agent
from carrel.kernel import Access, Code, Refusal, not_found
from carrel.storage import Tx


def may_address(access: Access, agent_id: str) -> bool:
    """Return whether the caller may send to an agent's lanes, existing or not."""
    if access.kind in ("agent", "run"):
        return agent_id == access.agent_id
    return access.kind != "client" or agent_id in access.agent_ids


def callable_agents(tx: Tx, access: Access) -> list[Agent]:
    """Return the agents that the caller may send to and that are enabled."""
    return [agent for agent in every_agent(tx, access) if agent.enabled and may_address(access, agent.id)]


def named_agent(tx: Tx, access: Access, name: str) -> Agent:
    """Return the agent with that id, slug or former slug, if the caller may address it."""
    agent = agent_by_slug(tx, access, name)
    if agent is None or not may_address(access, agent.id):
        raise _unknown(tx, access, name)
    return agent


def default_agent(tx: Tx, access: Access) -> Agent:
    """Return the caller's own agent, else the account's default agent."""
    agent_id = access.agent_id or account_of(tx, access).settings.get("defaultAgentId") or MAIN_AGENT
    return named_agent(tx, access, str(agent_id))


def require_agent(tx: Tx, access: Access, name: str) -> Agent:
    """Return the agent with that id, slug or former slug; an agent finds only itself."""
    agent = agent_by_slug(tx, access, name)
    if agent is None or (access.kind in ("agent", "run") and agent.id != access.agent_id):
        raise _unknown(tx, access, name)
    return agent


def _unknown(tx: Tx, access: Access, name: str) -> Refusal:
    """The same error for a missing agent and for one that the caller may not use; it names the allowed ones."""
    if access.kind == "system":
        # A tool acts for its agent, which may not know about all the others.
        return not_found("agent")
    known = [agent.slug for agent in callable_agents(tx, access)]
    return Refusal.of_name(None, "agent", name, known, code=Code.NOT_FOUND)

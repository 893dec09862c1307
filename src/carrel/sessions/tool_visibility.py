"""Tool visibility: which sessions an agent's tools may list, read, send to or ask about.

Session visibility (`visibility`) has decided before what the caller may see at all; this narrows it by
`tools.sessions.visibility`, the agent's profile and the sandbox, seen from the lane of the call.
"""

from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from carrel.agents import Agent, every_agent
from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import SandboxDefaultsSettings, ToolsSettings
from carrel.sessions.store import spawned_from
from carrel.storage import Tx

Mode = Literal["self", "tree", "agent", "all"]


class ToolVisibility(Struct, frozen=True, kw_only=True):
    """What the tools show a caller at one lane.

    Each mode includes the one before it: `self` is the lane itself, `tree` adds what was spawned from it, `agent` adds
    every lane of its agent, `all` adds lanes of other agents where agents may see one another.
    """

    mode: Mode
    key: SessionKey
    # The rule that decided the mode, naming its setting; quoted in refusals.
    rule: str
    # Set for people: they see the whole account in every mode.
    whole_account: bool = False
    others_enabled: bool = False
    others_allowed: tuple[str, ...] = ()

    def covers_agent(self, agent_id: str) -> bool:
        """Return whether every lane of that agent is visible."""
        if self.whole_account:
            return True
        if agent_id == self.key.agent:
            return self.mode in ("agent", "all")
        return self.mode == "all" and self.others_enabled and self._allows(agent_id) and self._allows(self.key.agent)

    def _allows(self, agent_id: str) -> bool:
        patterns = self.others_allowed
        return not patterns or any(fnmatchcase(agent_id, pattern.lower()) for pattern in patterns)


def visibility_of(
    agent: Agent, key: SessionKey, *, sandboxed: bool, tools: ToolsSettings, sandbox: SandboxDefaultsSettings
) -> ToolVisibility:
    """Return the visibility of an agent at a lane; a sandbox can only narrow it."""
    mode: Mode = agent.profile.visibility or tools.sessions.visibility
    own = f"agent {agent.id}'s visibility" if agent.profile.visibility else "tools.sessions.visibility"
    rule = f"{own} is {mode}"
    if sandboxed and sandbox.session_tools_visibility == "spawned" and mode in ("agent", "all"):
        mode, rule = "tree", "agents.defaults.sandbox.session_tools_visibility is spawned for a sandboxed agent"
    return ToolVisibility(
        mode=mode,
        key=key,
        rule=rule,
        others_enabled=tools.agent_to_agent.enabled,
        others_allowed=tools.agent_to_agent.allow,
    )


def full_visibility(key: SessionKey) -> ToolVisibility:
    """Return the visibility of a person: the whole account."""
    return ToolVisibility(mode="all", key=key, rule="a person sees the whole account", whole_account=True)


def why_hidden(tx: Tx, access: Access, visibility: ToolVisibility, key: SessionKey) -> str | None:
    """Return why a lane, existing or not, is hidden, naming the rule; None if it is visible."""
    if key == visibility.key or visibility.covers_agent(key.agent):
        return None
    if visibility.mode == "self":
        return f"{visibility.rule}: this agent sees only its own session."
    if spawned_from(tx, access, str(key), str(visibility.key)):
        return None
    if visibility.mode == "tree":
        return f"{visibility.rule}: this agent sees only its own session and the sessions spawned from it."
    if visibility.mode == "agent":
        return f"{visibility.rule}: sessions of other agents are visible only with visibility all."
    if not visibility.others_enabled:
        return "tools.agent_to_agent.enabled is off: agents cannot see one another's sessions."
    return "tools.agent_to_agent.allow does not include both agents."


def visible_agents(tx: Tx, access: Access, visibility: ToolVisibility) -> tuple[str, ...]:
    """Return the ids of the agents whose lanes are all visible."""
    return tuple(agent.id for agent in every_agent(tx, access) if visibility.covers_agent(agent.id))

"""What an agent's tools may see: one rule for every tool that lists, reads, addresses or asks after sessions.

A surface has decided before who asks; this narrows what that agent sees from where it sits.
"""

from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import SandboxDefaultsSettings, ToolsSettings
from carrel.sessions.agent_store import every_agent
from carrel.sessions.model import Agent
from carrel.sessions.store import spawned_from
from carrel.storage import Tx

Mode = Literal["self", "tree", "agent", "all"]


class Sight(Struct, frozen=True, kw_only=True):
    """How far one caller sees from one lane.

    Each mode sees what the one before it sees, and more: the lane itself; what was spawned from it; every lane of its
    agent; lanes of other agents, where agents may see one another.
    """

    mode: Mode
    key: SessionKey
    # What says so, in words that name the setting.
    rule: str
    # Everything of the account, whatever the mode says: a person asks.
    whole: bool = False
    others_enabled: bool = False
    others_allowed: tuple[str, ...] = ()

    def reaches(self, agent_id: str) -> bool:
        """True when every lane of that agent may be seen."""
        if self.whole:
            return True
        if agent_id == self.key.agent:
            return self.mode in ("agent", "all")
        return self.mode == "all" and self.others_enabled and self._allows(agent_id) and self._allows(self.key.agent)

    def _allows(self, agent_id: str) -> bool:
        patterns = self.others_allowed
        return not patterns or any(fnmatchcase(agent_id, pattern.lower()) for pattern in patterns)


def sight_of(
    agent: Agent, key: SessionKey, *, sandboxed: bool, tools: ToolsSettings, sandbox: SandboxDefaultsSettings
) -> Sight:
    """The sight of an agent at a lane; a sandbox only ever narrows it."""
    mode: Mode = agent.profile.visibility or tools.sessions.visibility
    own = f"agent {agent.id}'s visibility" if agent.profile.visibility else "tools.sessions.visibility"
    rule = f"{own} is {mode}"
    if sandboxed and sandbox.session_tools_visibility == "spawned" and mode in ("agent", "all"):
        mode, rule = "tree", "agents.defaults.sandbox.session_tools_visibility is spawned for a sandboxed agent"
    return Sight(
        mode=mode,
        key=key,
        rule=rule,
        others_enabled=tools.agent_to_agent.enabled,
        others_allowed=tools.agent_to_agent.allow,
    )


def whole_sight(key: SessionKey) -> Sight:
    """The sight of a person: the whole account."""
    return Sight(mode="all", key=key, rule="a person sees the whole account", whole=True)


def refusal_of(tx: Tx, access: Access, sight: Sight, key: SessionKey) -> str | None:
    """Why a lane, made or not, is out of sight, naming the rule; None when it is in sight."""
    if key == sight.key or sight.reaches(key.agent):
        return None
    if sight.mode == "self":
        return f"{sight.rule}: this agent sees the session it sits in and no other."
    if spawned_from(tx, access, str(key), str(sight.key)):
        return None
    if sight.mode == "tree":
        return f"{sight.rule}: this agent sees its session and what was spawned from it."
    if sight.mode == "agent":
        return f"{sight.rule}: sessions of other agents are seen with all only."
    if not sight.others_enabled:
        return "tools.agent_to_agent.enabled is off: agents do not see one another's sessions."
    return "tools.agent_to_agent.allow does not name both agents."


def agents_in_sight(tx: Tx, access: Access, sight: Sight) -> tuple[str, ...]:
    """The ids of the agents all of whose lanes may be seen."""
    return tuple(agent.id for agent in every_agent(tx, access) if sight.reaches(agent.id))

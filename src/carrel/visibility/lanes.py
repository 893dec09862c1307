"""Session visibility: which lanes a caller may see, on every surface.

One rule for every list, read, stream and message: `may_see` decides about one lane, `seen_lanes` is the same rule as a
condition for lists. Owners see everything; a user everything but other people's chats and what was spawned from them;
a client what it created; an agent what its view covers, which follows from `tools.sessions.visibility`, its profile and
the sandbox.
"""

from typing import Literal

from msgspec import structs

from carrel.agents import Agent, every_agent
from carrel.kernel import Access, SessionKey, ToolVisibility, not_found
from carrel.kernel.settings import SandboxDefaultsSettings, ToolsSettings
from carrel.storage import Tx
from carrel.visibility.tree_store import is_in_spaces, is_open_to, private_to, spawned_from

VisibilityMode = Literal["self", "tree", "agent", "all"]


def may_see(tx: Tx, access: Access, key: SessionKey, made_by: str) -> bool:
    """Return whether the caller may see a lane, existing or not."""
    if access.view is not None:
        return why_hidden(tx, access, access.view, key) is None
    if access.kind in ("owner", "system"):
        return True
    if access.kind == "user":
        return is_open_to(tx, access, key, made_by)
    return access.kind == "client" and made_by == access.actor_id


def require_visible(tx: Tx, access: Access, key: SessionKey, made_by: str) -> None:
    """Refuse a lane that the caller may not see, exactly as if it did not exist."""
    if not may_see(tx, access, key, made_by):
        raise not_found("session")


def visibility_of(
    agent: Agent, key: SessionKey, *, sandboxed: bool, tools: ToolsSettings, sandbox: SandboxDefaultsSettings
) -> ToolVisibility:
    """Return the visibility of an agent at a lane; a sandbox can only narrow it."""
    mode: VisibilityMode = agent.profile.visibility or tools.sessions.visibility
    own = f"agent {agent.id}'s visibility" if agent.profile.visibility else "tools.sessions.visibility"
    rule = f"{own} is {mode}"
    if sandboxed and sandbox.session_tools_visibility == "spawned" and mode in ("agent", "all"):
        mode, rule = "tree", "agents.defaults.sandbox.session_tools_visibility is spawned for a sandboxed agent"
    return ToolVisibility(
        mode=mode,
        key=key,
        rule=rule,
        sandboxed=sandboxed,
        others_enabled=tools.agent_to_agent.enabled,
        others_allowed=tools.agent_to_agent.allow,
    )


def why_hidden(tx: Tx, access: Access, visibility: ToolVisibility, key: SessionKey) -> str | None:
    """Return why a lane, existing or not, is hidden, naming the rule; None if it is visible."""
    if key == visibility.key:
        return None
    if access.behalf is not None and _is_anothers(tx, access, key, access.behalf):
        return "whoever caused this run may not read that session: it is another person's chat."
    if not is_in_spaces(tx, structs.replace(access, space_ids=access.cause_spaces), key):
        return "whoever caused this run may not read that session: it is in a space that is hidden from them."
    is_others = key.agent != visibility.key.agent and not visibility.whole_account
    is_beyond = is_others and not is_in_spaces(tx, access, key)
    if visibility.covers_agent(key.agent) and not is_beyond:
        return None
    if visibility.mode == "self":
        return f"{visibility.rule}: this agent sees only its own session."
    if spawned_from(tx, access, str(key), str(visibility.key)):
        return None
    if visibility.covers_agent(key.agent):
        return "it belongs to a task or topic in a space that this agent may not see."
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


def _is_anothers(tx: Tx, access: Access, key: SessionKey, person: str) -> bool:
    """Return whether a lane is, or was spawned from, somebody else's chat; one that does not exist is nobody's."""
    owner = private_to(tx, access, str(key))
    return owner not in (None, person, "") or (owner == "" and key.kind == "subagent")

"""Whether a spawn is allowed: which agent, sandbox and model, and how many sub-agents there are already."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from carrel.agents import Agent, Thinking, agent_by_slug, every_agent
from carrel.gateway import GatewayFault
from carrel.kernel import Refusal, invalid, is_agent_id
from carrel.kernel.limits import LABEL_CHARS_MAX, MESSAGE_CHARS_MAX, NAME_CHARS_MAX, RUN_TIMEOUT_SECONDS_MAX
from carrel.sessions import count_live_children
from carrel.storage import Tx
from carrel.tools.model import Caller, Params
from carrel.tools.sessions.channel_threads import parent_chat
from carrel.tools.sessions.spawn_files import InlineFile


class AttachAs(Params, frozen=True, kw_only=True):
    """Where the files should be mounted; a hint without effect yet."""

    mount_path: Annotated[str, Meta(max_length=1000, description="path in the sub-agent's workspace")] | None = None


class SessionsSpawn(Params, frozen=True, kw_only=True):
    """The task, who does it, and its limits."""

    task: Annotated[str, Meta(min_length=1, max_length=MESSAGE_CHARS_MAX, pattern=r"\S", description="what to do")]
    label: Annotated[str, Meta(max_length=LABEL_CHARS_MAX, description="a short name for it")] | None = None
    agent_id: Annotated[str, Meta(description="the agent; yourself by default")] | None = None
    model: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX, description="another model")] | None = None
    thinking: Annotated[Thinking, Meta(description="how hard it thinks")] | None = None
    run_timeout_seconds: (
        Annotated[int, Meta(ge=0, le=RUN_TIMEOUT_SECONDS_MAX, description="how long it may work; 0: no limit")] | None
    ) = None
    bound: Annotated[bool, Meta(description="work in a thread of this chat")] = msgspec.field(
        name="thread", default=False
    )
    mode: Annotated[Literal["run", "session"], Meta(description="session goes on in its thread")] | None = None
    cleanup: Annotated[Literal["delete", "keep"], Meta(description="what becomes of its session")] = "keep"
    sandbox: Annotated[Literal["inherit", "require"], Meta(description="whether it must be sandboxed")] = "inherit"
    attachments: Annotated[tuple[InlineFile, ...], Meta(description="files it needs")] = ()
    attach_as: Annotated[AttachAs, Meta(description="where the files go")] | None = None

    def __post_init__(self) -> None:
        """Refuse contradicting options."""
        if self.mode == "session" and not self.bound:
            message = "mode session needs thread: the session continues in a thread of the requester's channel."
            raise invalid("mode", message)

    @property
    def shown_mode(self) -> str:
        """The mode, with its default resolved."""
        return self.mode or ("session" if self.bound else "run")


class Declined(Struct, frozen=True):
    """A spawn that is refused, with a message for the caller and sometimes a code."""

    status: Literal["forbidden", "error"]
    error: str
    code: str | None = None


class Granted(Struct, frozen=True):
    """A spawn that is allowed: its agent, and whether it is sandboxed."""

    agent: Agent
    sandboxed: bool


def judge(tx: Tx, caller: Caller, params: SessionsSpawn) -> Granted | Declined:
    """Decide whether this caller may spawn this now; checks that need no network."""
    if caller.key.kind == "subagent":
        return Declined("forbidden", "A sub-agent cannot spawn sub-agents of its own.")
    if params.bound and parent_chat(tx, caller) is None:
        return Declined("error", "The channel of this session has no threads; leave thread out.", "thread_unsupported")
    agent = _requested_agent(tx, caller, params.agent_id)
    if agent is None:
        allowed = [agent.slug for agent in spawnable_agents(tx, caller)]
        refusal = Refusal.of_value("agentId", params.agent_id or caller.agent.id, allowed)
        return Declined("forbidden", refusal.message, "agent_not_allowed")
    if params.attachments:
        if not caller.services.settings.tools.sessions_spawn.attachments.enabled:
            why = "Attachments are turned off (tools.sessions_spawn.attachments.enabled); leave them out."
            return Declined("forbidden", why)
        if agent.profile.runtime == "acp":
            why = f"Agent {agent.id} uses the acp runtime, which accepts no attachments."
            return Declined("error", why, "attachments_unsupported_runtime")
    return _check_limits(tx, caller, params, agent)


def may_spawn(caller: Caller, agent_id: str) -> bool:
    """True when this caller may spawn that agent; it may always spawn its own."""
    allowed = caller.agent.profile.subagents.allow_agents
    return agent_id == caller.agent.id or "*" in allowed or agent_id in allowed


def spawnable_agents(tx: Tx, caller: Caller) -> list[Agent]:
    """Return the agents that this caller may spawn, its own first; out of a sandbox it may spawn nobody."""
    allowed = [
        agent
        for agent in every_agent(tx, caller.access)
        if agent.enabled and may_spawn(caller, agent.id) and (would_be_sandboxed(caller, agent) or not caller.sandboxed)
    ]
    return sorted(allowed, key=lambda agent: (agent.id != caller.agent.id, agent.id))


def would_be_sandboxed(caller: Caller, agent: Agent) -> bool:
    """True when a child of this agent would work in a sandbox; nobody gets out of one by spawning."""
    return agent.profile.sandbox == "on" or (caller.sandboxed and agent.id == caller.agent.id)


def _requested_agent(tx: Tx, caller: Caller, agent_id: str | None) -> Agent | None:
    """Return the agent to spawn; None alike for one that is misspelt, missing, disabled or not allowed."""
    if agent_id is not None and not is_agent_id(agent_id):
        return None
    agent = agent_by_slug(tx, caller.access, agent_id or caller.agent.id)
    return agent if agent is not None and agent.enabled and may_spawn(caller, agent.id) else None


def _check_limits(tx: Tx, caller: Caller, params: SessionsSpawn, agent: Agent) -> Granted | Declined:
    sandboxed = would_be_sandboxed(caller, agent)
    if params.sandbox == "require" and not sandboxed:
        return Declined("forbidden", f"Agent {agent.id} would not be sandboxed.", "sandbox_required")
    if caller.sandboxed and not sandboxed:
        why = f"This session is sandboxed and agent {agent.id} would not be."
        return Declined("forbidden", why, "sandbox_required")
    defaults, own = caller.services.settings.agents.defaults.subagents, caller.agent.profile.subagents
    limit = defaults.max_children if own.max_children is None else own.max_children
    if count_live_children(tx, caller.access, str(caller.key)) >= limit:
        why = f"This session already has {limit} sub-agents working, the most allowed; wait for one to end."
        return Declined("forbidden", why, "children_limit")
    return Granted(agent, sandboxed)


async def check_model(caller: Caller, agent: Agent, model: str) -> Declined | None:
    """Return why a model is unavailable to an agent, or None. May ask the gateway, so call it outside transactions."""
    named = agent.gateway_among(caller.services.gateways)
    gateway, settings = caller.services.gateways.get(named), caller.services.settings.gateway.get(named)
    if gateway is None:
        return Declined("error", f"Agent {agent.id} uses gateway.{named}, which is not configured.", "unknown_model")
    if settings is not None and model in (settings.model, *settings.models):
        return None
    why = ""
    try:
        if model in await gateway.models():
            return None
    except GatewayFault as fault:
        why = f" ({fault.message})"
    return Declined("error", f"The gateway of agent {agent.id} has no model {model!a}{why}.", "unknown_model")

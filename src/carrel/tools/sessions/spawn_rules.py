"""Whether a spawn may be: by which agent, in which sandbox, with which model, and how many there are already."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from carrel.agents import Agent, Thinking, agent_by_slug
from carrel.gateway import GatewayFault
from carrel.kernel import clip, is_agent_id
from carrel.kernel.limits import LABEL_CHARS_MAX, MESSAGE_CHARS_MAX, NAME_CHARS_MAX, RUN_TIMEOUT_SECONDS_MAX
from carrel.sessions import count_live_children
from carrel.storage import Tx
from carrel.tools.model import Caller, Params
from carrel.tools.sessions.channel_threads import room_beside
from carrel.tools.sessions.spawn_files import InlineFile

_SHOWN_CHARS_MAX = 80


class AttachAs(Params, frozen=True, kw_only=True):
    """Where the files would like to be seen; a hint that changes nothing yet."""

    mount_path: Annotated[str, Meta(max_length=1000)] | None = None


class SessionsSpawn(Params, frozen=True, kw_only=True):
    """The work, by whom it is to be done, and within which bounds."""

    task: Annotated[str, Meta(min_length=1, max_length=MESSAGE_CHARS_MAX, pattern=r"\S")]
    label: Annotated[str, Meta(max_length=LABEL_CHARS_MAX)] | None = None
    agent_id: str | None = None
    model: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)] | None = None
    thinking: Thinking | None = None
    run_timeout_seconds: Annotated[int, Meta(ge=0, le=RUN_TIMEOUT_SECONDS_MAX)] | None = None
    bound: bool = msgspec.field(name="thread", default=False)
    mode: Literal["run", "session"] | None = None
    cleanup: Literal["delete", "keep"] = "keep"
    sandbox: Literal["inherit", "require"] = "inherit"
    attachments: tuple[InlineFile, ...] = ()
    attach_as: AttachAs | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.mode == "session" and not self.bound:
            raise ValueError("mode session needs thread: it goes on in a thread of the requester's channel")

    @property
    def shown_mode(self) -> str:
        """The mode, or what it is where none was named."""
        return self.mode or ("session" if self.bound else "run")


class Declined(Struct, frozen=True):
    """A spawn that cannot be, in words for who asked and under a code where there is one."""

    status: Literal["forbidden", "error"]
    error: str
    code: str | None = None


class Granted(Struct, frozen=True):
    """A spawn that may be: of which agent, and whether it sits in a sandbox."""

    agent: Agent
    sandboxed: bool


def judge(tx: Tx, caller: Caller, params: SessionsSpawn) -> Granted | Declined:
    """Whether this caller may spawn that now; the rules that need no network."""
    if caller.key.kind == "subagent":
        return Declined("forbidden", "A sub-agent spawns none of its own.")
    if params.bound and room_beside(tx, caller) is None:
        return Declined("error", "The channel of this session has no threads; leave thread out.", "thread_unsupported")
    agent = _wanted(tx, caller, params.agent_id)
    if agent is None:
        shown = ascii(clip(params.agent_id or caller.agent.id, _SHOWN_CHARS_MAX))
        return Declined(
            "forbidden", f"{shown} is no agent that this one may spawn; agents_list names those.", "agent_not_allowed"
        )  # fmt: skip
    if params.attachments:
        if not caller.house.settings.tools.sessions_spawn.attachments.enabled:
            return Declined("forbidden", "tools.sessions_spawn.attachments.enabled is off: hand over no files.")
        if agent.profile.runtime == "acp":
            words = f"Agent {agent.id} is of runtime acp, which takes no attachments."
            return Declined("error", words, "attachments_unsupported_runtime")
    return _in_bounds(tx, caller, params, agent)


def may_spawn(caller: Caller, agent_id: str) -> bool:
    """True when a spawn from this caller may be of that agent; of its own it always may."""
    allowed = caller.agent.profile.subagents.allow_agents
    return agent_id == caller.agent.id or "*" in allowed or agent_id in allowed


def _wanted(tx: Tx, caller: Caller, agent_id: str | None) -> Agent | None:
    """The agent to be spawned; None for one that is misspelt, missing, disabled or not allowed, all alike."""
    if agent_id is not None and not is_agent_id(agent_id):
        return None
    agent = agent_by_slug(tx, caller.access, agent_id or caller.agent.id)
    return agent if agent is not None and agent.enabled and may_spawn(caller, agent.id) else None


def _in_bounds(tx: Tx, caller: Caller, params: SessionsSpawn, agent: Agent) -> Granted | Declined:
    sandboxed = agent.profile.sandbox == "on" or (caller.sandboxed and agent.id == caller.agent.id)
    if params.sandbox == "require" and not sandboxed:
        return Declined("forbidden", f"Agent {agent.id} would not be sandboxed.", "sandbox_required")
    if caller.sandboxed and not sandboxed:
        words = f"This session is sandboxed and agent {agent.id} would not be."
        return Declined("forbidden", words, "sandbox_required")
    defaults, own = caller.house.settings.agents.defaults.subagents, caller.agent.profile.subagents
    limit = defaults.max_children if own.max_children is None else own.max_children
    if count_live_children(tx, caller.access, str(caller.key)) >= limit:
        words = f"This session has {limit} sub-agents at work, as many as it may; wait for one to end."
        return Declined("forbidden", words, "children_limit")
    return Granted(agent, sandboxed)


async def check_model(caller: Caller, agent: Agent, model: str) -> Declined | None:
    """Why that model cannot be had for an agent; None when it can. May ask the gateway, so never in a transaction."""
    named = caller.house.gateway_of(agent)
    gateway, settings = caller.house.gateways.get(named), caller.house.settings.gateway.get(named)
    if settings is not None and model in (settings.model, *settings.models):
        return None
    why = ""
    try:
        if gateway is not None and model in await gateway.models():
            return None
    except GatewayFault as fault:
        why = f" ({fault.message})"
    return Declined("error", f"The gateway of agent {agent.id} has no model {model!a}{why}.", "unknown_model")

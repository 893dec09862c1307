"""Agents: listing them, and what an owner sets on them."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from carrel.agents import (
    Agent,
    BehaviorFlags,
    Profile,
    SubagentRules,
    Thinking,
    ToolRules,
    agent_by_slug,
    change_agent,
    every_agent,
    make_agent,
    require_agent,
)
from carrel.delivery import PreviewKind, PromptPreview, injections_of, preview_prompt
from carrel.kernel import PEOPLE, Access, Grammar, Input, Refusal, Shape, limits, not_found
from carrel.kernel.fields import Name, ShortText
from carrel.kernel.settings import Recall
from carrel.monitoring import count_live
from carrel.runs import retire_agent
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, Page, endpoint
from carrel.surfaces.api.mcp_servers import check_servers

Names = Annotated[list[ShortText], Meta(max_length=200)]
_ID = {"pattern": f"^{Grammar.AGENT_ID}$"}
Slug = Annotated[str, Meta(min_length=1, max_length=limits.AGENT_ID_CHARS_MAX, extra_json_schema=_ID)]
Visibility = Literal["self", "tree", "agent", "all"]


class BehaviorPatch(Input, frozen=True, kw_only=True):
    """What an agent may do on its own; null inherits from the account."""

    can_create_tasks: bool | UnsetType | None = UNSET
    can_modify_task_status: bool | UnsetType | None = UNSET
    can_mention_agents: bool | UnsetType | None = UNSET
    can_review_tasks: bool | UnsetType | None = UNSET
    can_mark_done: bool | UnsetType | None = UNSET
    can_promote_memory: bool | UnsetType | None = UNSET


class ToolsPatch(Input, frozen=True, kw_only=True):
    """Which tools an agent is offered."""

    allow: Names | UnsetType = UNSET
    deny: Names | UnsetType = UNSET
    ask: Names | UnsetType = UNSET


class SubagentsPatch(Input, frozen=True, kw_only=True):
    """Limits of an agent's sub-agents; null inherits from the settings."""

    allow_agents: Names | UnsetType = UNSET
    run_timeout_seconds: Annotated[int, Meta(ge=0, le=limits.RUN_TIMEOUT_SECONDS_MAX)] | UnsetType | None = UNSET
    archive_after_minutes: Annotated[float, Meta(ge=0, le=525600)] | UnsetType | None = UNSET
    max_children: Annotated[int, Meta(ge=0, le=1000)] | UnsetType | None = UNSET


class AgentPatch(Input, frozen=True, kw_only=True):
    """Changes of an agent; objects are merged key by key."""

    name: Name | UnsetType = UNSET
    slug: Slug | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=2000)] | UnsetType = UNSET
    gateway: ShortText | UnsetType = UNSET
    model: ShortText | UnsetType = UNSET
    thinking: Thinking | UnsetType | None = UNSET
    concurrency: Annotated[int, Meta(ge=0, le=limits.CONCURRENCY_MAX)] | UnsetType | None = UNSET
    behavior_flags: BehaviorPatch | UnsetType = UNSET
    space_ids: Annotated[list[Name], Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    tools: ToolsPatch | UnsetType = UNSET
    subagents: SubagentsPatch | UnsetType = UNSET
    mcp: Annotated[list[ShortText], Meta(max_length=limits.MCP_SERVERS_PER_AGENT_MAX)] | UnsetType = UNSET
    sandbox: Literal["off", "on"] | UnsetType = UNSET
    runtime: Literal["subagent", "acp"] | UnsetType = UNSET
    visibility: Visibility | UnsetType | None = UNSET
    recall: Recall | UnsetType | None = UNSET
    instructions_extra: Annotated[str, Meta(max_length=limits.INSTRUCTIONS_EXTRA_CHARS_MAX)] | UnsetType = UNSET
    workspace: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET
    heartbeat_minutes: Annotated[float, Meta(ge=0, le=525_600)] | UnsetType = UNSET


class NewAgent(AgentPatch, frozen=True, kw_only=True):
    """A new agent."""

    id: Slug


class AgentShape(Shape, frozen=True, kw_only=True):
    """An agent."""

    id: str
    slug: str
    name: str
    aliases: tuple[str, ...]
    description: str
    enabled: bool
    gateway: str
    model: str
    thinking: Thinking | None
    concurrency: int | None
    behavior_flags: BehaviorFlags
    space_ids: tuple[str, ...]
    tools: ToolRules
    subagents: SubagentRules
    mcp: tuple[str, ...]
    sandbox: Literal["off", "on"]
    runtime: Literal["subagent", "acp"]
    visibility: Visibility | None
    recall: Recall | None
    instructions_extra: str
    workspace: str
    heartbeat_minutes: float
    session_key: str
    status: Literal["idle", "busy", "disabled"]
    last_context_injected_at: str | None
    created_at: str | None
    updated_at: str | None


@endpoint("GET", "/api/agents", "agents", tool="agents_list")
def list_agents(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[AgentShape]:
    """List the account's agents, oldest first; an agent sees only itself."""
    busy = _busy(tx, access)
    seen = [agent for agent in every_agent(tx, access) if access.agent_id in (None, agent.id)]
    return Page([agent_shape(tx, access, agent, busy) for agent in seen])


class PromptQuery(Input, frozen=True, kw_only=True):
    """Which kind of run."""

    profile: PreviewKind = "chat"


@endpoint("GET", "/api/agents/{id}/prompt", who=PEOPLE)
def preview_agent_prompt(call: Call[None, PromptQuery], tx: Tx, access: Access) -> PromptPreview:
    """Get the standing instructions and tools that an agent is sent in one kind of run."""
    agent = agent_by_slug(tx, access, call.path("id"))
    if agent is None:
        raise not_found("agent")
    return preview_prompt(tx, call.services.tool_services, access, agent, call.query.profile)


@endpoint("POST", "/api/agents", "agent", who=OWNER, creates=True)
def create_agent(call: Call[NewAgent, NoQuery], tx: Tx, access: Access) -> AgentShape:
    """Create an agent."""
    new = call.body
    _check_named(call, access, new)
    new_agent = make_agent(tx, access, new.id, new.id if new.name is UNSET else new.name, _profile(Profile(), new))
    renamed = _renamed(new_agent, new)
    agent = new_agent if renamed == new_agent else change_agent(tx, access, renamed)
    return agent_shape(tx, access, agent, set())


@endpoint("GET", "/api/agents/{id}", "agent", tool="agents_list")
def show_agent(call: Call[None, NoQuery], tx: Tx, access: Access) -> AgentShape:
    """Get an agent by its id, its slug or a former slug."""
    return agent_shape(tx, access, require_agent(tx, access, call.path("id")), _busy(tx, access))


@endpoint("PATCH", "/api/agents/{id}", "agent", who=OWNER)
def update_agent(call: Call[AgentPatch, NoQuery], tx: Tx, access: Access) -> AgentShape:
    """Change an agent; fields that are left out stay as they are."""
    patch = call.body
    _check_named(call, access, patch)
    agent = _renamed(require_agent(tx, access, call.path("id")), patch)
    changed = change_agent(tx, access, structs.replace(agent, profile=_profile(agent.profile, patch)))
    return agent_shape(tx, access, changed, _busy(tx, access))


@endpoint("DELETE", "/api/agents/{id}", "agent", who=OWNER)
def delete_agent(call: Call[None, NoQuery], tx: Tx, access: Access) -> AgentShape:
    """Disable an agent, close its sessions and cancel its queued runs."""
    return agent_shape(tx, access, retire_agent(tx, access, call.path("id")), set())


def agent_shape(tx: Tx, access: Access, agent: Agent, busy: set[str]) -> AgentShape:
    """Return the agent as responses show it."""
    return AgentShape.of(
        agent,
        **structs.asdict(agent.profile),
        session_key=str(agent.base_key),
        status="disabled" if not agent.enabled else "busy" if agent.id in busy else "idle",
        last_context_injected_at=injections_of(tx, access, [agent.id])[0].last_injected_at,
    )


def agent_id_of(tx: Tx, access: Access, named: str | None) -> str | None:
    """Return the id of the agent to list things of; a name that no agent has is returned as it is: nothing has it."""
    agent = None if named is None else agent_by_slug(tx, access, named)
    return named if agent is None else agent.id


def _busy(tx: Tx, access: Access) -> set[str]:
    return {agent for (state, agent), _ in count_live(tx, access).items() if state == "running"}


def _check_named(call: Call[Any, NoQuery], access: Access, patch: AgentPatch) -> None:
    """Refuse names that the settings lack, or do not allow this account."""
    if patch.mcp is not UNSET:
        check_servers(call, access, patch.mcp)
    known = call.services.gateways_of(access)
    if patch.gateway is not UNSET and patch.gateway not in ("", *known):
        raise Refusal.of_name("gateway", "gateway", patch.gateway, known)


def _renamed(agent: Agent, patch: AgentPatch) -> Agent:
    given = {name: value for name in ("name", "slug", "enabled") if (value := getattr(patch, name)) is not UNSET}
    return structs.replace(agent, **given)


def _profile(profile: Profile, patch: AgentPatch) -> Profile:
    """Merge the patch into the profile, objects key by key."""
    fields: dict[str, Any] = msgspec.to_builtins(profile)
    for name, value in msgspec.to_builtins(patch).items():
        if name in Profile.__struct_encode_fields__:
            fields[name] = {**fields[name], **value} if isinstance(value, dict) else value
    return msgspec.convert(fields, Profile)

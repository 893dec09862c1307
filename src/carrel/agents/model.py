"""Agents and their profiles as values."""

from collections.abc import Container
from typing import Annotated, Literal

from msgspec import Meta, Struct

from carrel.kernel import Input, SessionKey
from carrel.kernel.fields import ShortText
from carrel.kernel.limits import CONCURRENCY_MAX, INSTRUCTIONS_EXTRA_CHARS_MAX
from carrel.kernel.settings import Recall

Thinking = Literal["off", "minimal", "low", "medium", "high"]
MAIN_AGENT = "main"


class BehaviorFlags(Input, frozen=True, kw_only=True):
    """What an agent may do on its own; None inherits from the account, then from the server."""

    can_create_tasks: bool | None = None
    can_modify_task_status: bool | None = None
    can_mention_agents: bool | None = None
    can_review_tasks: bool | None = None
    can_mark_done: bool | None = None
    can_promote_memory: bool | None = None


class ToolRules(Input, frozen=True, kw_only=True):
    """Which tools an agent may use; `deny` wins."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


class SubagentRules(Input, frozen=True, kw_only=True):
    """Which sub-agents an agent may spawn, and their limits."""

    allow_agents: tuple[str, ...] = ()
    run_timeout_seconds: Annotated[int, Meta(ge=0)] | None = None
    archive_after_minutes: Annotated[float, Meta(ge=0)] | None = None
    max_children: Annotated[int, Meta(ge=0, le=1000)] | None = None


class Profile(Input, frozen=True, kw_only=True):
    """An agent's configuration, apart from its names."""

    description: Annotated[str, Meta(max_length=2000)] = ""
    gateway: ShortText = ""
    model: ShortText = ""
    # How many of its runs may work at once; None uses the setting, 0 means no limit.
    concurrency: Annotated[int, Meta(ge=0, le=CONCURRENCY_MAX)] | None = None
    thinking: Thinking | None = None
    behavior_flags: BehaviorFlags = BehaviorFlags()
    space_ids: tuple[str, ...] = ("*",)
    tools: ToolRules = ToolRules()
    subagents: SubagentRules = SubagentRules()
    # The MCP servers of the settings whose tools it may use.
    mcp: tuple[str, ...] = ()
    sandbox: Literal["off", "on"] = "off"
    runtime: Literal["subagent", "acp"] = "subagent"
    visibility: Literal["self", "tree", "agent", "all"] | None = None
    recall: Recall | None = None
    instructions_extra: Annotated[str, Meta(max_length=INSTRUCTIONS_EXTRA_CHARS_MAX)] = ""
    workspace: Annotated[str, Meta(max_length=1000)] = ""
    heartbeat_minutes: Annotated[float, Meta(ge=0)] = 0


class Agent(Struct, frozen=True, kw_only=True):
    """A configured agent. `id` never changes; `slug` may, and former slugs stay aliases."""

    id: str
    slug: str
    name: str
    enabled: bool
    profile: Profile
    created_at: int
    updated_at: int
    aliases: tuple[str, ...] = ()

    @property
    def base_key(self) -> SessionKey:
        """The agent's main lane."""
        return SessionKey(self.id, "main")

    def gateway_among(self, configured: Container[str]) -> str:
        """Return the name of its gateway: the one it names, else the default one; the built-in agent if none is set."""
        return self.profile.gateway or ("default" if "default" in configured else "builtin")

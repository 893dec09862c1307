"""Agents, their tools, and the MCP servers that add more."""

from typing import Annotated, Literal

from msgspec import Meta, field

from carrel.kernel.access import DEFAULT_ACCOUNT_SLUG
from carrel.kernel.limits import RUN_TIMEOUT_SECONDS_MAX
from carrel.kernel.settings.types import Concurrency, Count, Minutes, Section, WebAddress


class ToolsSessionsSettings(Section, frozen=True, kw_only=True):
    """Which sessions the session tools show an agent."""

    visibility: Literal["self", "tree", "agent", "all"] = "tree"


class ToolsAgentToAgentSettings(Section, frozen=True, kw_only=True):
    """Whether agents may read and send to one another's sessions; an empty `allow` means every agent."""

    enabled: bool = False
    allow: tuple[str, ...] = ()


class ToolNamesSettings(Section, frozen=True, kw_only=True):
    """Tool names that are allowed or denied; `deny` wins."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ToolsSubagentsSettings(Section, frozen=True, kw_only=True):
    """Tools that a sub-agent gets in addition to its agent's, or is denied."""

    tools: ToolNamesSettings = ToolNamesSettings()


class SpawnAttachmentsSettings(Section, frozen=True, kw_only=True):
    """Files passed to a sub-agent."""

    enabled: bool = True
    max_files: Count = 50
    max_file_bytes: Count = 1_048_576
    max_total_bytes: Count = 5_242_880
    retain_on_session_keep: bool = False
    dir: str = ".openclaw/attachments"


class ToolsSpawnSettings(Section, frozen=True, kw_only=True):
    """What the tool `sessions_spawn` may do."""

    attachments: SpawnAttachmentsSettings = SpawnAttachmentsSettings()


class ToolsSettings(Section, frozen=True, kw_only=True):
    """What agents may do."""

    sessions: ToolsSessionsSettings = ToolsSessionsSettings()
    agent_to_agent: ToolsAgentToAgentSettings = ToolsAgentToAgentSettings()
    subagents: ToolsSubagentsSettings = ToolsSubagentsSettings()
    sessions_spawn: ToolsSpawnSettings = ToolsSpawnSettings()


class SubagentDefaultsSettings(Section, frozen=True, kw_only=True):
    """Limits of sub-agents whose agent sets none; 0 seconds or minutes mean no limit."""

    run_timeout_seconds: Annotated[int, Meta(ge=0, le=RUN_TIMEOUT_SECONDS_MAX)] = 0
    archive_after_minutes: Minutes = 60
    max_children: Annotated[int, Meta(ge=0, le=1000)] = 5


class SandboxDefaultsSettings(Section, frozen=True, kw_only=True):
    """What a sandboxed agent may see: only what it spawned, or what its visibility allows."""

    session_tools_visibility: Literal["spawned", "all"] = "spawned"


class AgentDefaultsSettings(Section, frozen=True, kw_only=True):
    """Defaults for every agent that does not override them."""

    # How many runs of each agent may work at once, across all servers; 0 means no limit.
    concurrency: Concurrency = 0
    subagents: SubagentDefaultsSettings = SubagentDefaultsSettings()
    sandbox: SandboxDefaultsSettings = SandboxDefaultsSettings()


class AgentsSettings(Section, frozen=True, kw_only=True):
    """Settings for all agents; without a `workspaces_dir`, workspaces are in `storage.data_dir`."""

    workspaces_dir: Annotated[str, Meta(pattern=r"^$|^[~/]", extra={"form": "an absolute path"})] = ""
    defaults: AgentDefaultsSettings = AgentDefaultsSettings()


class McpServerSettings(Section, frozen=True, kw_only=True):
    """An MCP server whose tools agents may use: a program that is started, or a `url`."""

    command: str = ""
    args: tuple[str, ...] = ()
    # Names of environment variables that the program gets besides HOME, PATH and the like.
    env: tuple[str, ...] = ()
    cwd: str = ""
    url: WebAddress = ""
    # Headers, each with the environment variable that holds its value: `Authorization = "GITHUB_AUTHORIZATION"`.
    headers: dict[str, str] = field(default_factory=dict)
    # The slugs of the accounts whose agents may use it; `*` for all.
    accounts: tuple[str, ...] = (DEFAULT_ACCOUNT_SLUG,)
    # Which of its tools are offered, by its own names for them; `deny` wins.
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    timeout_seconds: Annotated[int, Meta(ge=1, le=3_600)] = 60
    start_seconds: Annotated[int, Meta(ge=1, le=600)] = 30

"""The settings as values: every name, its type, its bounds and its default.

Each room takes its own section as an argument. Reading files and the environment is `carrel.main`'s affair; nothing
here looks at the machine. The names are those of the settings reference, a section being a struct and a name a field.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

Port = Annotated[int, Meta(ge=0, le=65535)]
# The upper ends keep a slip of the keyboard (and TOML's `inf`) from overflowing a date or a 32-bit column.
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]
# 0 switches a limit of minutes or days off.
Minutes = Annotated[float, Meta(ge=0, le=525_600)]
Days = Annotated[float, Meta(ge=0, le=36_500)]
Secret = Annotated[str, Meta(extra={"secret": True})]
WebAddress = Annotated[
    str,
    Meta(
        pattern=r"^$|^https?://[^\s/]",
        # An address may carry a password, so it is shown as one.
        extra={"form": "an address that begins http:// or https://", "address": True},
    ),
]
DatabaseAddress = Annotated[
    str,
    Meta(
        pattern=r"^$|^sqlite:///.|^postgres(ql)?://.",
        extra={"form": "sqlite:///<file> or postgresql://…", "address": True},
    ),
]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of settings that are named and handed out together."""


class ServerSettings(Section, frozen=True, kw_only=True):
    """Where the server listens and how long it takes to stop."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Port = 8787
    public_url: WebAddress = ""
    drain_seconds: Seconds = 30


class StorageSettings(Section, frozen=True, kw_only=True):
    """Where everything is kept; without a `url` it is the SQLite file `carrel.db` in `data_dir`."""

    url: DatabaseAddress = ""
    durability: Literal["full", "normal"] = "full"
    data_dir: Path = Path("~/.carrel")

    def __post_init__(self) -> None:
        """Name the database, so that no reader has to know what an empty address means."""
        if not self.url:
            structs.force_setattr(self, "url", f"sqlite:///{self.data_dir / 'carrel.db'}")


class AuthSettings(Section, frozen=True, kw_only=True):
    """Whether a caller on this machine may come without a token."""

    mode: Literal["required", "loopback"] = "required"


class GatewaySettings(Section, frozen=True, kw_only=True):
    """One way to a model; `builtin` needs none."""

    kind: Literal["builtin", "responses", "a2a"] = "builtin"
    base_url: WebAddress = ""
    api_key: Secret = ""
    model: str = ""
    models: tuple[str, ...] = ()
    history: Literal["carrel", "gateway"] = "carrel"
    stream: bool = True
    run_tokens: bool = False
    timeout_seconds: Seconds = 300


class DeliverySettings(Section, frozen=True, kw_only=True):
    """How a turn is put to a model, and its bounds."""

    instructions: Literal["v2", "inline"] = "v2"
    input_chars_max: Count = 12_000
    history_chars_max: Count = 120_000
    tool_rounds_max: Count = 16
    no_reply_attempts: Count = 3


class SendMatch(Section, frozen=True, kw_only=True, rename="camel"):
    """What a send rule looks at; what is left empty matches everything."""

    channel: str = ""
    chat_type: str = ""
    key_prefix: str = ""


class SendRule(Section, frozen=True, kw_only=True, rename="camel"):
    """Allow or deny what the match describes; of the rules that match, one that denies wins."""

    action: Literal["allow", "deny"]
    match: SendMatch = SendMatch()


class SendPolicySettings(Section, frozen=True, kw_only=True):
    """Which sessions may be sent to."""

    rules: tuple[SendRule, ...] = ()
    default: Literal["allow", "deny"] = "allow"


class SessionsAgentToAgentSettings(Section, frozen=True, kw_only=True):
    """How two agents go on talking after one has sent the other something."""

    max_ping_pong_turns: Annotated[int, Meta(ge=0, le=5)] = 5


class ThreadBindingsSettings(Section, frozen=True, kw_only=True):
    """Whether a spawned session may go on in a thread of its requester's channel."""

    enabled: bool = True


class SessionsSettings(Section, frozen=True, kw_only=True):
    """How lanes are told apart and how long closed generations are kept."""

    task_scoped: bool = True
    scope: Literal["per-conversation", "global"] = "per-conversation"
    send_policy: SendPolicySettings = SendPolicySettings()
    closed_retention_days: Days = 90
    base_entries_max: Count = 2_000
    agent_to_agent: SessionsAgentToAgentSettings = SessionsAgentToAgentSettings()
    reply_back_expiry_minutes: Minutes = 10
    thread_bindings: ThreadBindingsSettings = ThreadBindingsSettings()


class RunsSettings(Section, frozen=True, kw_only=True):
    """How runs are worked off; `concurrency` counts per server."""

    concurrency: Count = 64
    lease_seconds: Seconds = 60
    attempts_max: Count = 5
    timeout_minutes: Minutes = 30
    retention_days: Days = 30
    waiting_days: Days = 7
    lane_queue_max: Count = 9_999


class A2aTasksSettings(Section, frozen=True, kw_only=True):
    """Bounds of runs that came in over A2A."""

    ttl_days: Days = 7
    timeout_minutes: Minutes = 30


class A2aPushSettings(Section, frozen=True, kw_only=True):
    """Telling webhooks of a task's changes."""

    enabled: bool = True
    allow_private_addresses: bool = False
    attempts_max: Count = 10


class A2aSettings(Section, frozen=True, kw_only=True):
    """The A2A surface: what its cards say, and what the server does accordingly."""

    enabled: bool = True
    public_card: bool = True
    blocking_wait_seconds: Seconds = 300
    streaming: bool = True
    extended_card: bool = True
    required_extensions: tuple[str, ...] = ()
    # 0 leaves gRPC off.
    grpc_port: Port = 0
    push: A2aPushSettings = A2aPushSettings()
    tasks: A2aTasksSettings = A2aTasksSettings()


class ToolsSessionsSettings(Section, frozen=True, kw_only=True):
    """What the session tools let an agent see."""

    visibility: Literal["self", "tree", "agent", "all"] = "tree"


class ToolsAgentToAgentSettings(Section, frozen=True, kw_only=True):
    """Whether agents may look at and speak to one another's sessions; an empty `allow` means every agent."""

    enabled: bool = False
    allow: tuple[str, ...] = ()


class ToolNamesSettings(Section, frozen=True, kw_only=True):
    """Names of tools; `deny` wins."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ToolsSubagentsSettings(Section, frozen=True, kw_only=True):
    """What a sub-agent is offered beside or short of its agent's tools."""

    tools: ToolNamesSettings = ToolNamesSettings()


class SpawnAttachmentsSettings(Section, frozen=True, kw_only=True):
    """Files handed to a sub-agent."""

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
    """Bounds of sub-agents where their agent sets none of its own; 0 seconds and 0 minutes are no limit."""

    run_timeout_seconds: Annotated[int, Meta(ge=0, le=31_536_000)] = 0
    archive_after_minutes: Minutes = 60
    max_children: Annotated[int, Meta(ge=0, le=1000)] = 5


class SandboxDefaultsSettings(Section, frozen=True, kw_only=True):
    """What a sandboxed agent may see: only what it spawned, or what its visibility says."""

    session_tools_visibility: Literal["spawned", "all"] = "spawned"


class AgentDefaultsSettings(Section, frozen=True, kw_only=True):
    """What holds for every agent that says nothing else."""

    subagents: SubagentDefaultsSettings = SubagentDefaultsSettings()
    sandbox: SandboxDefaultsSettings = SandboxDefaultsSettings()


class AgentsSettings(Section, frozen=True, kw_only=True):
    """Agents in general."""

    defaults: AgentDefaultsSettings = AgentDefaultsSettings()


class AgentHttpSettings(Section, frozen=True, kw_only=True):
    """Whether a program on this machine may call tools with a session key alone."""

    session_key_auth: Literal["off", "loopback"] = "off"


class TelegramSettings(Section, frozen=True, kw_only=True):
    """A Telegram bot through which people talk to an agent; without a token and a webhook secret there is none."""

    bot_token: Secret = ""
    # It is a part of the address that Telegram posts to.
    webhook_secret: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{0,256}$",
            extra={"form": "up to 256 letters, digits, _ and -", "secret": True},
        ),
    ] = ""
    # Empty is the account's default agent.
    agent_id: str = ""
    api_base_url: WebAddress = "https://api.telegram.org"
    owner_ids: Annotated[
        tuple[int | str, ...],
        Meta(extra={"form": "a list of Telegram user ids, in the environment as JSON: [12345678]"}),
    ] = ()
    open: bool = False

    @property
    def enabled(self) -> bool:
        """Whether there is a bot."""
        return bool(self.bot_token and self.webhook_secret)


class ChannelsSettings(Section, frozen=True, kw_only=True):
    """Chats outside of the house."""

    telegram: TelegramSettings = TelegramSettings()


class EventsSettings(Section, frozen=True, kw_only=True):
    """How far back a follower of the feed may go."""

    retention_days: Days = 7
    replay_max: Count = 5_000


class LogSettings(Section, frozen=True, kw_only=True):
    """What is written to stderr, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "json"


class Settings(Section, frozen=True, kw_only=True):
    """All settings of one server."""

    server: ServerSettings = ServerSettings()
    storage: StorageSettings = StorageSettings()
    auth: AuthSettings = AuthSettings()
    gateway: dict[str, GatewaySettings] = {}
    delivery: DeliverySettings = DeliverySettings()
    sessions: SessionsSettings = SessionsSettings()
    runs: RunsSettings = RunsSettings()
    a2a: A2aSettings = A2aSettings()
    tools: ToolsSettings = ToolsSettings()
    agents: AgentsSettings = AgentsSettings()
    agent_http: AgentHttpSettings = AgentHttpSettings()
    channels: ChannelsSettings = ChannelsSettings()
    events: EventsSettings = EventsSettings()
    log: LogSettings = LogSettings()


class SettingRow(Struct, frozen=True, kw_only=True):
    """One setting as people may see it: no secrets, and where the value comes from."""

    name: str
    value: Any
    default: Any
    source: Literal["default", "file", "env"]

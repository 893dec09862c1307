"""The settings as values: every name, its type, its limits and its default.

Each room is given its own section. `carrel.main` reads the file and the environment. The names are those of the
settings reference: a section is a struct, a setting is a field.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

Port = Annotated[int, Meta(ge=0, le=65535)]
# The upper limits keep a typo (or TOML's `inf`) from overflowing a date or a 32-bit column.
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]
# 0 leaves the number of tokens to the model.
Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
# 0 switches a limit in minutes or days off.
Minutes = Annotated[float, Meta(ge=0, le=525_600)]
Days = Annotated[float, Meta(ge=0, le=36_500)]
Secret = Annotated[str, Meta(extra={"secret": True})]
WebAddress = Annotated[
    str,
    Meta(
        pattern=r"^$|^https?://[^\s/]",
        # `address`: it may contain a password, which is hidden when the setting is shown.
        extra={"form": "a URL that starts with http:// or https://", "address": True},
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
    """A group of settings."""


class ServerSettings(Section, frozen=True, kw_only=True):
    """Where the server listens, and how long it may take to stop."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Port = 8787
    public_url: WebAddress = ""
    drain_seconds: Seconds = 30


class StorageSettings(Section, frozen=True, kw_only=True):
    """Where everything is stored; without a `url`, in the SQLite file `carrel.db` in `data_dir`."""

    url: DatabaseAddress = ""
    durability: Literal["full", "normal"] = "full"
    data_dir: Path = Path("~/.carrel")

    def __post_init__(self) -> None:
        """Fill in the default database, so that no reader has to know what an empty URL means."""
        if not self.url:
            structs.force_setattr(self, "url", f"sqlite:///{self.data_dir / 'carrel.db'}")


class AuthSettings(Section, frozen=True, kw_only=True):
    """Whether callers on this machine need a token."""

    mode: Literal["required", "loopback"] = "required"


class GatewaySettings(Section, frozen=True, kw_only=True):
    """One connection to a model; `builtin` needs no model."""

    kind: Literal["builtin", "responses", "chat", "anthropic", "a2a"] = "builtin"
    base_url: WebAddress = ""
    api_key: Secret = ""
    api_key_env: str = ""
    api_key_file: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    history: Literal["carrel", "gateway"] = "carrel"
    stream: bool = True
    run_tokens: bool = False
    max_output_tokens: Tokens = 0
    timeout_seconds: Seconds = 300


class DeliverySettings(Section, frozen=True, kw_only=True):
    """How a turn is presented to a model, and its limits."""

    instructions: Literal["v2", "inline"] = "v2"
    input_chars_max: Count = 12_000
    history_chars_max: Count = 120_000
    tool_rounds_max: Count = 16
    no_reply_attempts: Count = 3


class SendMatch(Section, frozen=True, kw_only=True, rename="camel"):
    """What a send rule matches; an empty field matches everything."""

    channel: str = ""
    chat_type: str = ""
    key_prefix: str = ""


class SendRule(Section, frozen=True, kw_only=True, rename="camel"):
    """Allow or deny what `match` describes; if several rules match, `deny` wins."""

    action: Literal["allow", "deny"]
    match: SendMatch = SendMatch()


class SendPolicySettings(Section, frozen=True, kw_only=True):
    """Which sessions may be sent to."""

    rules: tuple[SendRule, ...] = ()
    default: Literal["allow", "deny"] = "allow"


class SessionsAgentToAgentSettings(Section, frozen=True, kw_only=True):
    """How two agents continue after one has sent the other a message."""

    max_ping_pong_turns: Annotated[int, Meta(ge=0, le=5)] = 5


class ThreadBindingsSettings(Section, frozen=True, kw_only=True):
    """Whether a spawned session may continue in a thread of its requester's channel."""

    enabled: bool = True


class SessionsSettings(Section, frozen=True, kw_only=True):
    """How conversations map to lanes, and how long closed generations are kept."""

    task_scoped: bool = True
    scope: Literal["per-conversation", "global"] = "per-conversation"
    send_policy: SendPolicySettings = SendPolicySettings()
    closed_retention_days: Days = 90
    base_entries_max: Count = 2_000
    agent_to_agent: SessionsAgentToAgentSettings = SessionsAgentToAgentSettings()
    reply_back_expiry_minutes: Minutes = 10
    thread_bindings: ThreadBindingsSettings = ThreadBindingsSettings()


class RunsSettings(Section, frozen=True, kw_only=True):
    """How runs are executed; `concurrency` is per server."""

    concurrency: Count = 64
    lease_seconds: Seconds = 60
    attempts_max: Count = 5
    timeout_minutes: Minutes = 30
    retention_days: Days = 30
    waiting_days: Days = 7
    lane_queue_max: Count = 9_999


class ResponsesSettings(Section, frozen=True, kw_only=True):
    """The Open Responses surface."""

    tool_output_wait_minutes: Minutes = 60


class A2aTasksSettings(Section, frozen=True, kw_only=True):
    """Limits of runs that came in over A2A."""

    ttl_days: Days = 7
    timeout_minutes: Minutes = 30


class A2aPushSettings(Section, frozen=True, kw_only=True):
    """Push notifications to webhooks when a task changes."""

    enabled: bool = True
    allow_private_addresses: bool = False
    attempts_max: Count = 10


class A2aOptSettings(Section, frozen=True, kw_only=True):
    """The OPT extension: objectives, plans and plan tasks over A2A."""

    enabled: bool = True
    max_plans_per_objective: Count = 10
    max_tasks_per_plan: Count = 50


class A2aSettings(Section, frozen=True, kw_only=True):
    """The A2A surface: what its agent cards announce and the server then does."""

    enabled: bool = True
    public_card: bool = True
    blocking_wait_seconds: Seconds = 300
    streaming: bool = True
    extended_card: bool = True
    required_extensions: tuple[str, ...] = ()
    # 0 disables gRPC.
    grpc_port: Port = 0
    push: A2aPushSettings = A2aPushSettings()
    tasks: A2aTasksSettings = A2aTasksSettings()
    opt: A2aOptSettings = A2aOptSettings()


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

    run_timeout_seconds: Annotated[int, Meta(ge=0, le=31_536_000)] = 0
    archive_after_minutes: Minutes = 60
    max_children: Annotated[int, Meta(ge=0, le=1000)] = 5


class SandboxDefaultsSettings(Section, frozen=True, kw_only=True):
    """What a sandboxed agent may see: only what it spawned, or what its visibility allows."""

    session_tools_visibility: Literal["spawned", "all"] = "spawned"


class AgentDefaultsSettings(Section, frozen=True, kw_only=True):
    """Defaults for every agent that does not override them."""

    subagents: SubagentDefaultsSettings = SubagentDefaultsSettings()
    sandbox: SandboxDefaultsSettings = SandboxDefaultsSettings()


class AgentsSettings(Section, frozen=True, kw_only=True):
    """Settings for all agents; without a `workspaces_dir`, workspaces are in `storage.data_dir`."""

    workspaces_dir: Annotated[str, Meta(pattern=r"^$|^[~/]", extra={"form": "an absolute path"})] = ""
    defaults: AgentDefaultsSettings = AgentDefaultsSettings()


class MemorySettings(Section, frozen=True, kw_only=True):
    """What a run is shown of the kept facts of its scopes, at most, 0 items for nothing; and what is kept of turns."""

    recall_items_max: Annotated[int, Meta(ge=0, le=100)] = 12
    recall_chars_max: Annotated[int, Meta(ge=200, le=100_000)] = 1_200
    extraction: Literal["off", "rules", "model"] = "rules"


class AutoSettings(Section, frozen=True, kw_only=True):
    """Auto runs: seconds from tick to tick, whether they go on after a restart, and how many ticks one has at most."""

    tick_seconds: Seconds = 60
    resume_on_restart: bool = False
    max_ticks: Count = 200


class SearchEndpointSettings(Section, frozen=True, kw_only=True):
    """A server for embeddings, as `POST <base_url>/v1/embeddings`; for `search.embedding = "endpoint"`."""

    base_url: WebAddress = ""
    api_key: Secret = ""
    model: str = ""


class SearchSettings(Section, frozen=True, kw_only=True):
    """How the board is searched: how many at a time, what is indexed, and how closely is looked."""

    concurrency: Annotated[int, Meta(ge=1, le=64)] = 3
    concurrency_wait_ms: Annotated[int, Meta(ge=0, le=60_000)] = 250
    include_tool_call_logs: bool = False
    embedding: Literal["none", "static", "minilm", "endpoint"] = "static"
    endpoint: SearchEndpointSettings = SearchEndpointSettings()
    # Candidates of each kind that words and meaning each bring up, and those of a query of one word.
    source_topk: Annotated[int, Meta(ge=10, le=2_000)] = 200
    single_token_window_max: Annotated[int, Meta(ge=10, le=2_000)] = 360
    # Parts of a long text whose meanings are compared each by itself.
    rerank_chunks_per_doc: Annotated[int, Meta(ge=1, le=64)] = 6
    # Answers that are kept until the index changes; 0 for none.
    query_cache_size: Annotated[int, Meta(ge=0, le=100_000)] = 256


class AgentHttpSettings(Section, frozen=True, kw_only=True):
    """Whether a program on this machine may call tools with only a session key."""

    session_key_auth: Literal["off", "loopback"] = "off"


class TelegramSettings(Section, frozen=True, kw_only=True):
    """A Telegram bot through which people talk to an agent; it needs a token and a webhook secret."""

    bot_token: Secret = ""
    # It is part of the URL that Telegram posts to.
    webhook_secret: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{0,256}$",
            extra={"form": "up to 256 letters, digits, _ and -", "secret": True},
        ),
    ] = ""
    # Empty means the account's default agent.
    agent_id: str = ""
    api_base_url: WebAddress = "https://api.telegram.org"
    owner_ids: Annotated[
        tuple[int | str, ...],
        Meta(extra={"form": "a list of Telegram user ids, in the environment as JSON: [12345678]"}),
    ] = ()
    open: bool = False

    @property
    def enabled(self) -> bool:
        """Whether the bot is configured."""
        return bool(self.bot_token and self.webhook_secret)


class ChannelsSettings(Section, frozen=True, kw_only=True):
    """External chat channels."""

    telegram: TelegramSettings = TelegramSettings()


class EventsSettings(Section, frozen=True, kw_only=True):
    """How far back a follower of the feed may start."""

    retention_days: Days = 7
    replay_max: Count = 5_000


class LogSettings(Section, frozen=True, kw_only=True):
    """What is logged to stderr, and in which format."""

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
    responses: ResponsesSettings = ResponsesSettings()
    a2a: A2aSettings = A2aSettings()
    tools: ToolsSettings = ToolsSettings()
    agents: AgentsSettings = AgentsSettings()
    memory: MemorySettings = MemorySettings()
    auto: AutoSettings = AutoSettings()
    search: SearchSettings = SearchSettings()
    agent_http: AgentHttpSettings = AgentHttpSettings()
    channels: ChannelsSettings = ChannelsSettings()
    events: EventsSettings = EventsSettings()
    log: LogSettings = LogSettings()


class SettingRow(Struct, frozen=True, kw_only=True):
    """One setting as people may see it: secrets hidden, and with the source of its value."""

    name: str
    value: Any
    default: Any
    source: Literal["default", "file", "env"]

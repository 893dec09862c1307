"""The server itself: its address, its store, its connections to models, and what it logs."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, structs

from carrel.kernel.access import DEFAULT_ACCOUNT_SLUG
from carrel.kernel.settings.types import (
    BudgetAction,
    BudgetCost,
    BudgetPer,
    BudgetRuns,
    BudgetScope,
    BudgetTokens,
    Concurrency,
    Count,
    DatabaseAddress,
    Days,
    Port,
    Price,
    Seconds,
    Secret,
    Section,
    Tokens,
    WebAddress,
)


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
    """One connection to a model or an agent; `builtin` needs none.

    `agents` and `session_tools` are for `openclaw` only; `command` and what follows it for `acp`.
    """

    kind: Literal["builtin", "responses", "chat", "anthropic", "openclaw", "a2a", "acp"] = "builtin"
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
    # How many tokens its model takes; 0 means that the server is asked.
    context_tokens: Tokens = 0
    timeout_seconds: Seconds = 300
    # How many runs may use it at once, across all servers; 0 means no limit.
    concurrency: Concurrency = 0
    # Which of its agents answers for ours, as `ours=its`; any other goes to the one with the same id, else its default
    # agent.
    agents: tuple[str, ...] = ()
    # Whether agents use our tools for sessions, or OpenClaw's own of the same names.
    session_tools: Literal["carrel", "openclaw"] = "carrel"
    # The program that is started as a coding agent. Only settings may name it: it means running commands on this
    # machine.
    command: str = ""
    args: tuple[str, ...] = ()
    # Names of environment variables that the program gets besides HOME, PATH and the like.
    env: tuple[str, ...] = ()
    # The slugs of the accounts whose agents may use it; `*` for all.
    accounts: tuple[str, ...] = (DEFAULT_ACCOUNT_SLUG,)
    start_seconds: Annotated[int, Meta(ge=1, le=600)] = 60


class PriceSettings(Section, frozen=True, kw_only=True):
    """A model's price in US dollars per million tokens, used if its gateway does not report the cost."""

    input: Price = 0
    # 0: cached tokens cost as much as other input tokens.
    cached: Price = 0
    output: Price = 0


class BudgetSettings(Section, frozen=True, kw_only=True):
    """What an agent, a task, a session or the account may use, and what happens then; 0 means no limit."""

    scope: BudgetScope = "account"
    tokens: BudgetTokens = 0
    usd: BudgetCost = 0
    runs: BudgetRuns = 0
    per: BudgetPer = "day"
    action: BudgetAction = "wait"


class EventsSettings(Section, frozen=True, kw_only=True):
    """How far back a follower of the feed may start."""

    retention_days: Days = 7
    replay_max: Count = 5_000


class AuditSettings(Section, frozen=True, kw_only=True):
    """A file in the data directory with a line for each request that changes something; its size, and older ones."""

    enabled: bool = False
    max_bytes: Annotated[int, Meta(ge=1_000, le=1_000_000_000)] = 10_485_760
    keep: Annotated[int, Meta(ge=1, le=1_000)] = 5


class LogSettings(Section, frozen=True, kw_only=True):
    """What is logged to stderr, and in which format."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "json"

"""The surfaces: A2A, tools over HTTP, and channels."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel.kernel.access import DEFAULT_ACCOUNT_SLUG
from carrel.kernel.settings.types import Count, Days, Minutes, Port, Seconds, Secret, Section, WebAddress


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


class AgentHttpSettings(Section, frozen=True, kw_only=True):
    """Whether a program on this machine may call tools with only a session key."""

    session_key_auth: Literal["off", "loopback"] = "off"


class TelegramSettings(Section, frozen=True, kw_only=True):
    """A Telegram bot through which people talk to an agent; it needs a token and a webhook secret."""

    bot_token: Secret = ""
    # Part of the URL that Telegram posts to.
    webhook_secret: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9_-]{0,256}$", extra={"form": "up to 256 letters, digits, _ and -", "secret": True}),
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


class HooksSettings(Section, frozen=True, kw_only=True):
    """Hooks: whether other programs may start runs with them, and which sessions they may name."""

    enabled: bool = False
    allow_request_session_key: bool = False
    allowed_session_key_prefixes: tuple[str, ...] = ("hook:",)


class WebhookSettings(Section, frozen=True, kw_only=True):
    """What another program posts to us: how it signs, which events are accepted, and what becomes of them."""

    kind: Literal["github", "linear", "slack", "json"] = "json"
    # The environment variable, or the file, that holds the signing secret.
    secret_env: str = ""
    secret_file: str = ""
    # The slug of the account that it belongs to.
    account: str = DEFAULT_ACCOUNT_SLUG
    # The events that are accepted; empty means the usual ones of its kind.
    events: tuple[str, ...] = ()
    # Whether events caused by bots are accepted too. An agent that answers there would then receive its own messages.
    bots: bool = False
    action: Literal["message", "task"] = "message"
    # Who a message is for: an agent, or a session of one.
    agent: str = ""
    session: str = ""
    # Where a task is put, and who it is assigned to.
    space: str = ""
    topic: str = ""
    assignee: str = ""
    status: str = ""
    # Instructions to the agent for its deliveries, in the owner's own words.
    instructions: str = ""
    # Texts with {paths} into the posted JSON; empty means the usual ones of its kind.
    title: str = ""
    text: str = ""
    thread: str = ""
    # For kind json: the headers with the signature, the delivery id, and the event.
    signature_header: str = ""
    delivery_header: str = ""
    event_header: str = ""

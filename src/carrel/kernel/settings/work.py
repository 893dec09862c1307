"""Sessions, runs and turns."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel.kernel.limits import PING_PONG_TURNS_MAX
from carrel.kernel.settings.types import Count, Days, Hours, Minutes, Seconds, Section


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

    max_ping_pong_turns: Annotated[int, Meta(ge=0, le=PING_PONG_TURNS_MAX)] = 5


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
    unreachable_hours: Hours = 24
    lane_queue_max: Count = 9_999


class ResponsesSettings(Section, frozen=True, kw_only=True):
    """The Open Responses surface."""

    tool_output_wait_minutes: Minutes = 60


class AutoSettings(Section, frozen=True, kw_only=True):
    """Auto runs: seconds from tick to tick, whether they go on after a restart, and how many ticks one has at most."""

    tick_seconds: Seconds = 60
    resume_on_restart: bool = False
    max_ticks: Count = 200

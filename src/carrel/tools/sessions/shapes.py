"""The results of the session tools, from which their schemas are made; the HTTP API adds fields to a session's row."""

from typing import Literal

from msgspec import UNSET, UnsetType

from carrel.kernel import Shape
from carrel.tools.model import answer
from carrel.tools.transcript import MessageShape
from carrel.workspaces import Receipt


class DeliveryContext(Shape, frozen=True, kw_only=True):
    """Where the last message of a session came from."""

    channel: str
    to: str | None
    account_id: str


class SessionRow(Shape, frozen=True, kw_only=True):
    """One session of a list."""

    key: str
    kind: Literal["main", "group", "cron", "hook", "node", "other"]
    channel: str
    display_name: str | None
    updated_at: int
    session_id: str | None
    model: str | None
    context_tokens: int
    total_tokens: int
    thinking_level: str | None
    verbose_level: str | None
    system_sent: bool
    aborted_last_run: bool
    send_policy: Literal["allow", "deny"] | None
    last_channel: str | None
    last_to: str | None
    transcript_path: str | None
    label: str | None
    delivery_context: DeliveryContext | UnsetType = UNSET
    messages: list[MessageShape] | UnsetType = UNSET


class Visibility(Shape, frozen=True, kw_only=True):
    """What the caller may see, and whether sessions are hidden."""

    mode: str
    hidden: bool


ListedSessions = answer(
    "ListedSessions", "The result of `sessions_list`.", count=int, sessions=list[SessionRow], visibility=Visibility
)


class SessionHistory(Shape, frozen=True, kw_only=True):
    """The result of `sessions_history`."""

    session_key: str
    session_id: str | None
    messages: list[MessageShape]
    truncated: bool
    dropped_messages: int
    content_truncated: bool
    content_redacted: bool
    bytes: int


class PlanMode(Shape, frozen=True, kw_only=True):
    """Whether a session is in plan mode."""

    enabled: bool
    active_plan_id: str | None


class Status(Shape, frozen=True, kw_only=True):
    """The result of `session_status`."""

    session_key: str
    session_id: str | None
    generation: int
    state: str
    queued_runs: int
    model: str | None
    context_tokens: int
    total_tokens: int
    plan_mode: PlanMode
    auto_runs: list[str]
    children: int
    last_activity_at: str | None


class KnownAgent(Shape, frozen=True, kw_only=True):
    """An agent that may be spawned."""

    id: str
    name: str
    configured: bool


class TeamMember(Shape, frozen=True, kw_only=True):
    """Another agent, and how many open tasks it has that the caller may see."""

    slug: str
    name: str
    description: str
    open_tasks: int


class KnownAgents(Shape, frozen=True, kw_only=True):
    """The result of `agents_list`: `agents` are those that may be spawned, `team` those to assign work to and ask."""

    requester: str
    allow_any: bool
    agents: list[KnownAgent]
    team: list[TeamMember]


class Delivery(Shape, frozen=True, kw_only=True):
    """How the reply will be delivered."""

    status: str
    mode: str


class Sent(Shape, frozen=True, kw_only=True):
    """The result of `sessions_send`; a refused message has no run."""

    run_id: str | UnsetType = UNSET
    status: Literal["accepted", "ok", "timeout", "error", "forbidden"]
    session_key: str | UnsetType = UNSET
    reply: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType | None = UNSET
    delivery: Delivery | UnsetType = UNSET


class Spawned(Shape, frozen=True, kw_only=True):
    """The result of `sessions_spawn`."""

    status: Literal["accepted", "forbidden", "error"]
    mode: str
    run_id: str | UnsetType = UNSET
    child_session_key: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    attachments: Receipt | UnsetType = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


Added = answer("Added", "The result of `artifact_add`.", artifact_id=str)

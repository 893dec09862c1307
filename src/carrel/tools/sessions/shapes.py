"""What the session tools give back, as types: programs are told their schema. Nothing is made from them here.

Another surface that shows a session adds to the row here what it knows besides.
"""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.tools.transcript import MessageShape
from carrel.workspaces import Receipt


class Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a result."""


class DeliveryContext(Shape, frozen=True, kw_only=True):
    """Where a session was last spoken to."""

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
    """How far the caller sees, and whether there is more than that."""

    mode: str
    hidden: bool


class ListedSessions(Shape, frozen=True, kw_only=True):
    """What `sessions_list` gives."""

    count: int
    sessions: list[SessionRow]
    visibility: Visibility


class SessionHistory(Shape, frozen=True, kw_only=True):
    """What `sessions_history` gives."""

    session_key: str
    session_id: str | None
    messages: list[MessageShape]
    truncated: bool
    dropped_messages: int
    content_truncated: bool
    content_redacted: bool
    bytes: int


class PlanMode(Shape, frozen=True, kw_only=True):
    """Whether a session plans, and what."""

    enabled: bool
    active_plan_id: str | None


class Standing(Shape, frozen=True, kw_only=True):
    """What `session_status` gives."""

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


class KnownAgents(Shape, frozen=True, kw_only=True):
    """What `agents_list` gives."""

    requester: str
    allow_any: bool
    agents: list[KnownAgent]


class Delivery(Shape, frozen=True, kw_only=True):
    """How what follows will come."""

    status: str
    mode: str


class Sent(Shape, frozen=True, kw_only=True):
    """What `sessions_send` gives."""

    run_id: str
    status: Literal["accepted", "ok", "timeout", "error", "forbidden"]
    session_key: str | UnsetType = UNSET
    reply: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType | None = UNSET
    delivery: Delivery | UnsetType = UNSET


class Spawned(Shape, frozen=True, kw_only=True):
    """What `sessions_spawn` gives."""

    status: Literal["accepted", "forbidden", "error"]
    mode: str
    run_id: str | UnsetType = UNSET
    child_session_key: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    attachments: Receipt | UnsetType = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class Added(Shape, frozen=True, kw_only=True):
    """What `artifact_add` gives."""

    artifact_id: str

"""Typed responses of a server. Fields of newer servers are in `raw`; fields that an older one lacks are empty."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, structs

from carrel.bridge.faults import NotReachable
from carrel.kernel import MS_PER_SECOND, Usage

ENDED = frozenset({"completed", "failed", "cancelled"})

Item = dict[str, Any]


class Part(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a response."""


class Shape(Part, frozen=True, kw_only=True, rename="camel", dict=True):
    """A response, or an item of a list in one."""

    @property
    def raw(self) -> Item:
        """The JSON as the server sent it."""
        body: Item = self.__dict__["raw"]
        return body


S = TypeVar("S", bound=Shape)
R = TypeVar("R", bound=Part)


def read(kind: type[S], body: Any) -> S:
    """Return a body as a shape; NotReachable if it does not fit."""
    shape = read_part(kind, body)
    shape.__dict__["raw"] = body
    return shape


def read_part(kind: type[R], body: Any) -> R:
    """Return a part of a body; NotReachable if it does not fit."""
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as fault:
        raise NotReachable(f"The server's response is not a {kind.__name__.lower()}: {fault}.") from fault


@dataclass(frozen=True)
class Page(Generic[S]):
    """A part of a list; `next_cursor` leads to the next one, None at the end."""

    items: tuple[S, ...]
    next_cursor: str | None
    raw: Item = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[S]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> S:
        return self.items[index]


def read_page(kind: type[S], body: Item, name: str) -> Page[S]:
    """Return a body as a page; `name` is the field with its rows."""
    return Page(tuple(read(kind, row) for row in body[name]), body.get("nextCursor"), body)


class Message(Part, frozen=True, kw_only=True, rename="camel"):
    """What a run was sent."""

    id: str = ""
    text: str = ""
    attachments: tuple[Item, ...] = ()


class RunError(Part, frozen=True, kw_only=True, rename="camel"):
    """Why a run failed."""

    code: str = ""
    message: str = ""


class Fault(Part, frozen=True, kw_only=True, rename="camel"):
    """An attempt that failed, and when the next one starts; None once it has.

    With `unreachable_since` nobody has answered since then: the run waits, and the attempt is not counted.
    """

    attempt: int
    code: str = ""
    message: str = ""
    attempts_max: int = 0
    next_attempt_at: datetime | None = None
    unreachable_since: datetime | None = None


class Run(Shape, frozen=True, kw_only=True, rename="camel"):
    """A message on its way to an outcome.

    `state` is queued, running, waiting, completed, failed or cancelled. A waiting run has a `question` and says in
    `waiting_for` for what it waits: input, auth, approval or tool_output.
    """

    id: str
    title: str = ""
    session_title: str = ""
    state: str = ""
    agent_id: str = ""
    session_key: str = ""
    session_id: str | None = None
    generation: int | None = None
    waiting_for: str | None = None
    reason: str | None = None
    note: str | None = None
    message: Message = Message()
    reply: str | None = None
    error: RunError | None = None
    task_id: str | None = None
    goal_id: str | None = None
    plan_id: str | None = None
    auto_run_id: str | None = None
    parent_run_id: str | None = None
    steers: str | None = None
    label: str | None = None
    attempt: int = 1
    attempts_max: int = 1
    next_attempt_at: datetime | None = None
    last_fault: Fault | None = None
    queue_position: int | None = None
    timeout_seconds: int = 0
    tools_called: tuple[str, ...] = ()
    usage: Usage = Usage()
    created_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        # A run has `attempts_max` beside its last fault, an event has it inside the fault.
        if self.last_fault:
            whole = structs.replace(self.last_fault, attempts_max=self.attempts_max)
            structs.force_setattr(self, "last_fault", whole)

    @property
    def ended(self) -> bool:
        """Whether it is completed, failed or cancelled."""
        return self.state in ENDED

    @property
    def settled(self) -> bool:
        """Whether it has ended or waits for somebody."""
        return self.ended or self.state == "waiting"

    @property
    def question(self) -> str | None:
        """What a waiting run needs to know; None for others."""
        return self.reply or self.note or "no question was given" if self.state == "waiting" else None


class Reason(Part, frozen=True, kw_only=True, rename="camel"):
    """One reason, since when it holds, and what would change it."""

    code: str
    text: str
    since: datetime | None = None
    actions: tuple[str, ...] = ()
    run_id: str | None = None
    session_key: str | None = None


class Why(Shape, frozen=True, kw_only=True, rename="camel"):
    """Whether a run is moving, and if not, why."""

    moving: bool
    reasons: tuple[Reason, ...] = ()


class ReceiptStep(Part, frozen=True, kw_only=True, rename="camel"):
    """One request to a gateway, and what came back; `body` is the exact text, if requested."""

    n: int
    attempt: int = 1
    sent_at: datetime | None = None
    model: str = ""
    instructions_version: str = ""
    instructions: str | None = None
    input: Any = None
    tools: tuple[str, ...] = ()
    history_omitted: int = 0
    body_sha256: str = ""
    body: str | None = None
    context: Item = {}
    output: Any = None


class Receipt(Shape, frozen=True, kw_only=True, rename="camel"):
    """Exactly what an agent was sent, step by step."""

    run_id: str = ""
    session_key: str = ""
    generation: int | None = None
    steps: tuple[ReceiptStep, ...] = ()


class Session(Shape, frozen=True, kw_only=True, rename="camel"):
    """A lane with one of its generations; `state` is idle, busy or closed."""

    session_key: str
    title: str = ""
    pinned: bool = False
    state: str = ""
    session_id: str | None = None
    agent_id: str = ""
    generation: int = 0
    kind: str = ""
    channel: str = ""
    label: str | None = None
    display_name: str | None = None
    queued_runs: int = 0
    task_id: str | None = None
    topic_id: str | None = None
    spawned_by: str | None = None
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    closed_reason: str | None = None
    archived_at: datetime | None = None
    updated_ms: int | None = msgspec.field(default=None, name="updatedAt")

    @property
    def updated_at(self) -> datetime | None:
        """When something last happened in it."""
        return None if self.updated_ms is None else datetime.fromtimestamp(self.updated_ms / MS_PER_SECOND, UTC)


class Restored(Session, frozen=True, kw_only=True, rename="camel"):
    """A session that was brought back; `reopened` says whether its archived generation goes on."""

    reopened: bool = False


class HistoryMessage(Part, frozen=True, kw_only=True, rename="camel"):
    """One message of a transcript; `role` is user, assistant, toolCall, toolResult or system."""

    id: str
    role: str
    content: tuple[Item, ...] = ()
    timestamp: datetime | None = None
    run_id: str | None = None
    provenance: Item = {}

    @property
    def text(self) -> str:
        """Its text, without tool calls and files."""
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


class History(Shape, frozen=True, kw_only=True, rename="camel"):
    """The newest messages of a session, oldest first; `next_cursor` leads to earlier ones."""

    session_key: str = ""
    session_id: str | None = None
    messages: tuple[HistoryMessage, ...] = ()
    next_cursor: str | None = None


class Reset(Shape, frozen=True, kw_only=True, rename="camel"):
    """The generation that was closed, None if none was open, and the number of the next one."""

    next_generation: int
    closed_session_id: str | None = None


class Artifact(Shape, frozen=True, kw_only=True, rename="camel"):
    """A result that an agent added to its run; `kind` is text, file, url or data, `text` its beginning."""

    id: str
    run_id: str = ""
    kind: str = ""
    name: str | None = None
    media_type: str | None = None
    filename: str | None = None
    bytes: int = 0
    url: str | None = None
    text: str | None = None
    added_at: datetime | None = None


class Task(Shape, frozen=True, kw_only=True, rename="camel"):
    """Work as people and agents mean it."""

    id: str
    title: str = ""
    description: str = ""
    status: str = ""
    board_status: str = ""
    blocked_reason: str | None = None
    priority: int = 3
    position: float = 0
    topic_id: str | None = None
    goal_id: str | None = None
    plan_id: str | None = None
    parent_id: str | None = None
    assigned_agent_ids: tuple[str, ...] = ()
    assigned_user_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    due_date: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Event(Shape, frozen=True, kw_only=True, rename="camel"):
    """A change, with its number in the feed and what it concerns; what it says is in `data`."""

    seq: int
    name: str
    at: datetime | None = None
    session_key: str | None = None
    generation: int | None = None
    run_id: str | None = None
    task_id: str | None = None
    topic_id: str | None = None
    agent_id: str | None = None
    data: Item = {}

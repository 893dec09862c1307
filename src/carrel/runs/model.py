"""A run, its states and transitions, and the outcomes of a turn. Pure."""

from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from carrel.journal import TaskView, json_text
from carrel.kernel import (
    SCOPE_END,
    Access,
    Code,
    Provenance,
    Refusal,
    SessionKey,
    clip,
    invalid,
    redact,
    system_access,
)
from carrel.kernel.limits import ERROR_CHARS_MAX
from carrel.runs.approval_words import decision_in
from carrel.runs.faults import Fault
from carrel.visibility import PERSONAL_KINDS

# The `behalf` of a run that several people caused: it sees the chats of none of them.
SEVERAL = "several"

# Bells: a run became due; a running run should stop; a run has ended or waits for an answer.
RUNS = "runs"
STOPS = "stops"
SETTLED = "runs_settled"
# Ended, or waiting for an answer: the states that callers wait for.
SETTLED_STATES = ("completed", "failed", "cancelled", "waiting")
# The reason of a run whose sender continued the conversation without the outputs of its functions.
CONTINUED = "continued"
# The reason of a run whose agent no longer waits for a decision, because a person said something else.
OVERTAKEN = "overtaken"
# The reason of a message that joined a running run, which answers it.
STEERED = "steered"

State = Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]
WaitingFor = Literal["input", "auth", "tool_output", "approval"]

# The state machine. A state without transitions is final.
MOVES: dict[str, frozenset[str]] = {
    # A queued message is completed at once when it joins a running run.
    "queued": frozenset({"running", "completed", "cancelled", "failed"}),
    "running": frozenset({"queued", "waiting", "completed", "failed", "cancelled"}),
    "waiting": frozenset({"queued", "cancelled", "failed"}),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
ENDS = tuple(state for state, onward in MOVES.items() if not onward)
_decode_provenance = msgspec.json.Decoder(Provenance).decode
# Needed several times in every transaction of a run; the values are frozen, so they can be shared.
_system_access = lru_cache(maxsize=1_024)(system_access)
_stored_key = lru_cache(maxsize=16_384)(SessionKey.stored)
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode


def states_before(after: str) -> tuple[str, ...]:
    """Return the states from which a run may become `after`."""
    return tuple(before for before, onward in MOVES.items() if after in onward)


def not_waiting(run: "Run | None") -> Refusal:
    """The refusal of an answer to a run that is not waiting."""
    overtaken = run is not None and run.reason == OVERTAKEN
    why = "something else was said to its agent since" if overtaken else "its question may have been answered elsewhere"
    return Refusal(Code.CONFLICT, f"This run is not waiting for an answer; {why}.")


def require_move(before: str, after: str) -> None:
    """Refuse a transition that is not in the table."""
    if after not in MOVES[before]:
        code = Code.ALREADY_ENDED if before in ENDS else Code.CONFLICT
        raise Refusal(code, f"A run that is {before} cannot become {after}.")


class Claim(Struct, frozen=True):
    """A run held by one worker: only the fields that the writes of its turn need."""

    account_id: str
    id: str
    key: str
    agent_id: str
    seq: int
    state: str
    attempts_max: int
    timeout_ms: int
    provenance: str
    provenance_kind: str
    created_at: int
    updated_at: int
    attempt: int
    claim_no: int
    deadline_at: int | None
    generation: int | None
    started_at: int | None
    task_id: str | None
    auto_run_id: str | None
    # How long it waits for an unreachable gateway: 0 until its deadline, None for ever.
    patience_ms: int | None
    # Since when it waits for an unreachable gateway.
    unreachable_since: int | None

    @property
    def session_key(self) -> SessionKey:
        return _stored_key(self.key)

    @property
    def access(self) -> Access:
        """The system's access to the run's account."""
        return _system_access(self.account_id)


class Run(Claim, frozen=True):
    """A message to a lane on its way to an outcome; A2A calls it a task. Its fields are the columns of its table."""

    actor_id: str
    message_id: str
    text: str
    channel: str
    attachment_ids: str = "[]"
    # The user or program that caused it; it sees nobody else's chats.
    behalf: str | None = None
    changes: int = 1
    due_at: int | None = None
    ended_at: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    extras: int = 0
    # When its newest failed attempt ended.
    failed_at: int | None = None
    gateway: str | None = None  # that it goes to, if not its agent's
    held_for: str | None = None  # what has to be allowed or renewed before it continues: a budget, or a loop
    instructions_sha256: str | None = None
    instructions_version: str | None = None
    label: str | None = None
    lease_until: int | None = None
    note: str | None = None
    original: bytes | None = None
    parent_run_id: str | None = None
    question: str | None = None
    reason: str | None = None
    reply: str | None = None
    retried_from: str | None = None
    sender_id: str | None = None
    session_id: str | None = None
    # The spaces of whoever caused it, as a list in JSON; None for all of them.
    space_ids: str | None = None
    # Whether messages wait to join it; and the run that its own message is to join.
    steered: int = 0
    steers: str | None = None
    stopping: str | None = None
    unreachable_gateway: str | None = None
    usage: str | None = None
    waiting_for: str | None = None
    wanted_end: str | None = None
    worker: str | None = None

    @property
    def told_task_id(self) -> str | None:
        """The task whose thread shows what is said in the run; what is said in a person's chat stays there."""
        return self.task_id if self.task_id is None or self.session_key.kind not in PERSONAL_KINDS else None

    @property
    def ended(self) -> bool:
        """True once it is completed, failed or cancelled."""
        return self.state in ENDS

    @property
    def has_joined(self) -> bool:
        """Whether its message joined the run that it steers, which answers it."""
        return self.reason == STEERED

    @property
    def is_at_work(self) -> bool:
        """Whether its turn is running, or has started and will be retried."""
        return self.state == "running" or (self.state == "queued" and self.session_id is not None)

    def may_be_joined_by(self, message: "Run") -> bool:
        """Return whether another message may join this run, which is working in the same lane.

        Its sender must see all that this run sees, or the answer could reveal more; and it must concern nothing else.
        """
        sees_all = message.behalf in (None, self.behalf)
        spaces = message.spaces
        sees_all = sees_all and ("*" in spaces or ("*" not in self.spaces and set(self.spaces) <= set(spaces)))
        return self.is_at_work and sees_all and message.task_id in (None, self.task_id)

    @property
    def settled(self) -> bool:
        """True once it has ended or waits for an answer."""
        return self.state in SETTLED_STATES

    @property
    def last_fault(self) -> Fault | None:
        """Why its newest attempt failed, while the next one is pending or running."""
        failed = self.attempt if self.state == "queued" else self.attempt - 1
        # An attempt that reached nobody, or was held, is not counted: the next one has the same number.
        failed += self.unreachable_since is not None or self.held_for is not None
        if self.state not in ("queued", "running") or failed < 1 or self.error_code is None or self.failed_at is None:
            return None
        due_at = self.due_at if self.state == "queued" else None
        return Fault(
            attempt=failed,
            unreachable_since=self.unreachable_since,
            is_held=self.held_for is not None,
            attempts_max=self.attempts_max,
            code=self.error_code,
            message=self.error_message or self.error_code,
            at=self.failed_at,
            next_attempt_at=due_at,
        )

    @property
    def requested_end(self) -> "RequestedEnd | None":
        """The end that a tool call has requested."""
        return read_requested_end(self.wanted_end)

    @property
    def starts_new_generation(self) -> bool:
        """Whether each message starts a new generation: for isolated schedules, whose transcript would grow forever."""
        return self.provenance_kind == "cron" and self.session_key.rest == f"cron:{self.source().actor}"

    @property
    def is_left(self) -> bool:
        """Whether it ended while it waited for its sender, who never returned."""
        is_for_sender = self.waiting_for not in (None, "approval")
        return self.state == "cancelled" and self.reason in ("expired", CONTINUED) and is_for_sender

    @property
    def sender_message(self) -> str | None:
        """The sender's own id of the message, without the scope in which it is unique."""
        return None if self.sender_id is None else self.sender_id.rpartition(SCOPE_END)[2]

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces of whoever caused it: the run sees no others."""
        return ("*",) if self.space_ids is None else _decode_names(self.space_ids)

    def for_another(self, spaces: tuple[str, ...], behalf: str | None) -> "Run":
        """Return the run after another person caused it too: it sees what both may see, and the chats of neither."""
        both = system_access(self.account_id)
        shared = structs.replace(both, space_ids=self.spaces).narrowed(spaces)
        person = self.behalf if behalf in (None, self.behalf) else behalf if self.behalf is None else SEVERAL
        return structs.replace(self, space_ids=None if "*" in shared else json_text(shared), behalf=person)

    def source(self) -> Provenance:
        """Return the provenance of its message."""
        return _decode_provenance(self.provenance)

    @property
    def asks_person(self) -> bool:
        """Whether it waits for a person."""
        return self.state == "waiting" and self.waiting_for != "tool_output"

    @property
    def question_view(self) -> TaskView | None:
        """The view of its task that shows its questions to people, and their answers: the thread.

        Runs elsewhere that only concern a task, such as those of an auto run in a chat, ask in their own session.
        """
        is_posted = self.provenance_kind in ("external_user", "notification") or self.session_key.task_id is not None
        return "thread" if self.told_task_id is not None and is_posted else None

    def decision_in(self, text: str) -> bool | None:
        """Return the decision about its tool call in a text; None if it waits for none or the text is no decision."""
        return decision_in(text) if self.asks_person and self.waiting_for == "approval" else None

    def read_answer(self, text: str | None, approved: bool | None = None) -> tuple[str, bool | None]:
        """Return the text and the decision of a person's answer; Refusal if it does not answer this run.

        `approved` is the decision on a tool call; otherwise the text is read for one.
        """
        if not self.asks_person:
            raise not_waiting(self)
        if self.waiting_for == "approval":
            decided = self.decision_in(text or "") if approved is None else approved
            if decided is None:
                raise invalid(
                    "approve" if text is None else "text", "Answer yes or no; a reason may follow: no, because …"
                )
            return text or ("Approved." if decided else "Not approved."), decided
        if approved is not None:
            raise invalid("approve", f"This run is waiting for {self.waiting_for}, not for approval: send text.")
        if text is None or not text.strip():
            raise invalid("text", "An answer needs some text.")
        return text, None

    def attached(self) -> tuple[str, ...]:
        """Return the ids of its attachments."""
        return _decode_names(self.attachment_ids)


class ClaimLost(Exception):
    """This worker has lost its claim on a run, so it must write nothing more."""


class Completed(Struct, frozen=True, kw_only=True):
    """The turn answered. `note` says why the reply is incomplete or missing, or which files the model did not get."""

    reply: str
    note: str | None = None
    usage: dict[str, Any] | None = None


class NeedsInput(Struct, frozen=True, kw_only=True, tag=True):
    """The turn asks for input and frees its lane."""

    question: str
    waiting_for: WaitingFor = "input"
    usage: dict[str, Any] | None = None


class Failed(Struct, frozen=True, kw_only=True, tag=True):
    """The turn failed; `retryable` if another attempt may succeed."""

    code: str
    message: str
    reason: str | None = None
    retryable: bool = False
    retry_after_seconds: float | None = None
    # The gateway that could not be reached; this attempt does not count.
    unreachable_gateway: str | None = None
    # What the run is held for, and until when; this attempt does not count either.
    held_for: str | None = None
    held_until: int = 0
    usage: dict[str, Any] | None = None

    def shown(self) -> str:
        """Return the message redacted and clipped, as it is stored and shown."""
        return clip(redact(self.message), ERROR_CHARS_MAX)


class Cancelled(Struct, frozen=True, kw_only=True):
    """The turn was stopped."""

    reason: str


Outcome = Completed | NeedsInput | Failed | Cancelled


class ExternalCall(Struct, frozen=True, kw_only=True):
    """A tool call made from outside the turn: its arguments and its result."""

    name: str
    arguments: str
    result: str


class RequestedEnd(Struct, frozen=True, kw_only=True):
    """How a run should end its turn; `said` is what the agent said beside a call from outside, no reply."""

    outcome: NeedsInput | Failed
    call: ExternalCall | None = None
    said: str = ""


_decode_end = msgspec.json.Decoder(RequestedEnd).decode


def read_requested_end(stored: str | None) -> RequestedEnd | None:
    return None if stored is None else _decode_end(stored)

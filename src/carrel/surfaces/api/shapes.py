"""The JSON shape of runs and messages."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from carrel.delivery import InjectedContext, contexts_of_runs
from carrel.exchanges import exchange_after
from carrel.goals import links_of_tasks
from carrel.kernel import Access, Provenance, Shape, Usage, iso
from carrel.modes import AutoRun, RunAttributes, RunKind, auto_runs_by_id
from carrel.monitoring import queue_order, titles_of_runs
from carrel.notices import notices_of
from carrel.records import FileShape, attachment_heads, tools_called
from carrel.runs import FaultFields, Run
from carrel.storage import Tx

_usage = msgspec.json.Decoder(Usage).decode


class Said(Shape, frozen=True, kw_only=True):
    """The message of a run."""

    id: str
    text: str
    attachments: list[FileShape]


class RunError(Shape, frozen=True, kw_only=True):
    """Why a run failed, or its last attempt did."""

    code: str
    message: str


class RunUsage(Shape, frozen=True, kw_only=True):
    """What a run cost, as far as its gateway reports it."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    total_tokens: int
    cost_usd: float | None


class Announced(Shape, frozen=True, kw_only=True):
    """How a result was delivered to its requester."""

    state: Literal["none", "pending", "delivered", "undelivered", "skipped"] = "none"
    attempts: int = 0


class LastFault(FaultFields[str], frozen=True, kw_only=True):
    """Why the newest attempt failed, and when the next one starts; null once it has started.

    With `unreachableSince`, the gateway has not answered since then: the run waits, and the attempt does not count.
    """


class RunShape(Shape, frozen=True, kw_only=True):
    """A run as every list shows it; `title` is what a person would call it, `sessionTitle` its session."""

    id: str
    title: str
    session_title: str
    agent_id: str
    session_key: str
    session_id: str | None
    generation: int | None
    delivery_session_key: str | None
    state: Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]
    waiting_for: Literal["input", "auth", "tool_output", "approval"] | None
    reason: str | None
    note: str | None
    provenance: Provenance
    message: Said
    joined_message_ids: list[str]
    # The run that its message joins at its next step, or has joined.
    steers: str | None
    reply: str | None
    error: RunError | None
    task_id: str | None
    goal_id: str | None
    plan_id: str | None
    auto_run_id: str | None
    run_kind: RunKind | None
    attributes: RunAttributes
    parent_run_id: str | None
    child_session_key: str | None
    label: str | None
    attempt: int
    attempts_max: int
    next_attempt_at: str | None
    last_fault: LastFault | None
    queue_position: int | None
    timeout_seconds: int
    delivery_instruction_profile_version: str | None
    instructions_sha256: str | None
    tools_called: list[str]
    usage: RunUsage
    announce: Announced
    context: InjectedContext
    created_at: str
    started_at: str | None
    ended_at: str | None


def run_shapes(tx: Tx, access: Access, runs: Iterable[Run]) -> list[RunShape]:
    """Return runs with everything stored about them; the queue of each lane is read once."""
    listed, positions = list(runs), dict[str, dict[str, int]]()
    told = notices_of(tx, access, [run.id for run in listed if run.provenance_kind == "notification"])
    links = links_of_tasks(tx, access, [task_id for run in listed if (task_id := _task_of(run)) is not None])
    autos = auto_runs_by_id(tx, access, [run.auto_run_id for run in listed if run.auto_run_id is not None])
    contexts = contexts_of_runs(tx, access, [run.id for run in listed if run.started_at])
    titles = titles_of_runs(tx, access, listed)
    shapes = []
    for run in listed:
        if run.state == "queued" and run.key not in positions:
            positions[run.key] = queue_order(tx, access, run.key)
        messages = [notice.entry_id for notice in told.get(run.id, []) if notice.entry_id is not None]
        auto, (goal_id, plan_id) = autos.get(run.auto_run_id or ""), links.get(_task_of(run) or "", (None, None))
        shape = _run_shape(
            tx, access, run, auto, messages,
            title=titles[run.id].title,
            session_title=titles[run.id].session,
            # A tick has the goal of its auto run, which has none if it works on a single task.
            goal_id=goal_id if auto is None else auto.goal_id,
            plan_id=plan_id,
            queue_position=positions.get(run.key, {}).get(run.id),
            context=contexts.get(run.id, InjectedContext()),
        )  # fmt: skip
        shapes.append(shape)
    return shapes


def _task_of(run: Run) -> str | None:
    return run.task_id or run.session_key.task_id


def run_shape(tx: Tx, access: Access, run: Run) -> RunShape:
    """Return one run."""
    return run_shapes(tx, access, [run])[0]


def _run_shape(tx: Tx, access: Access, run: Run, auto: AutoRun | None, messages: list[str], **read: Any) -> RunShape:
    """`auto` is the auto run whose tick it is; `messages` are those of a thread that the run brings."""
    channel, rest = run.session_key.identity
    attributes = RunAttributes(channel=channel, conversation=rest) if auto is None else auto.attributes(run.task_id)
    retrying = run.state == "queued" and (run.attempt > 0 or run.held_for is not None)
    files = attachment_heads(tx, access, run.attached())
    return RunShape.of(
        run,
        **read,
        session_key=run.key,
        delivery_session_key=f"{run.key}:v{run.generation}" if run.generation else None,
        waiting_for=run.waiting_for if run.state == "waiting" else None,
        # The note of a waiting run is its question.
        note=run.question if run.state == "waiting" else run.note,
        provenance=run.source(),
        message=Said(id=messages[-1] if messages else run.message_id, text=run.text, attachments=files),
        joined_message_ids=messages if len(messages) > 1 else [],
        error=RunError(code=run.error_code, message=run.error_message or "") if run.error_code else None,
        task_id=_task_of(run),
        run_kind=attributes.run_kind,
        attributes=attributes,
        child_session_key=run.key if run.session_key.kind == "subagent" else None,
        attempt=max(1, run.attempt),
        next_attempt_at=iso(run.due_at) if retrying else None,
        last_fault=None if run.last_fault is None else LastFault.of(run.last_fault),
        timeout_seconds=run.timeout_ms // 1000,
        delivery_instruction_profile_version=run.instructions_version,
        tools_called=tools_called(tx, access, run.id) if run.started_at else [],
        usage=RunUsage.of(_usage(run.usage) if run.usage else Usage()),
        announce=_announced(tx, access, run),
    )


def _announced(tx: Tx, access: Access, run: Run) -> Announced:
    # Only runs that a session sent or spawned announce their result.
    exchange = exchange_after(tx, access, run.id) if run.provenance_kind in ("inter_session", "spawn") else None
    if exchange is None:
        return Announced()
    if not run.ended:
        # On PostgreSQL the exchange is read at a later moment than the run, and may be ahead of it.
        return Announced(state="pending")
    return Announced(state="pending" if exchange.state == "open" else exchange.state, attempts=exchange.attempts)


class QueuedRun(Shape, frozen=True, kw_only=True):
    """The message is stored and its run is queued."""

    run_id: str
    session_key: str


class Waited(Shape, frozen=True, kw_only=True):
    """The result of waiting for a run."""

    run_id: str
    status: Literal["accepted", "ok", "timeout", "error"]
    reply: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    session_key: str | UnsetType = UNSET


def waited(run: Run, *, with_key: bool = False) -> Waited:
    """Return the result of waiting for a run; a run that is itself waiting for a person is an error."""
    key = run.key if with_key else UNSET
    if run.state == "completed":
        return Waited(run_id=run.id, status="ok", reply=run.reply or "", session_key=key)
    if run.state == "waiting":
        question = f"The run is waiting for {run.waiting_for}: {run.question or 'no question was given'}"
        return Waited(run_id=run.id, status="error", error=question, session_key=key)
    if run.ended:
        why = run.error_message or run.reason or run.error_code or "no reason was given"
        return Waited(run_id=run.id, status="error", error=f"The run {run.state}: {why}", session_key=key)
    return Waited(run_id=run.id, status="timeout", session_key=key)

"""The wire shape of runs and messages, and how they are read. What the fields mean is decided in the rooms below."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from carrel.exchanges import exchange_after
from carrel.kernel import Access, Provenance, iso
from carrel.records import attachment_heads, tools_called
from carrel.runs import Run, queue_order
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Out

_usage = msgspec.json.Decoder(dict[str, Any]).decode


class Attached(Out, frozen=True, kw_only=True):
    """A file that came with a message."""

    id: str
    file_name: str
    mime_type: str
    size_bytes: int
    sha256: str


class Said(Out, frozen=True, kw_only=True):
    """The message of a run."""

    id: str
    text: str
    attachments: list[Attached]


class RunError(Out, frozen=True, kw_only=True):
    """Why a run failed, or its last attempt did."""

    code: str
    message: str


class RunUsage(Out, frozen=True, kw_only=True):
    """What a run cost, as far as its gateway told."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost_usd: float | None


class RunAttributes(Struct, frozen=True, kw_only=True, rename="upper"):
    """The attributes under which a run's ids travel."""

    auto_run_kind: str | None = None
    auto_run_id: str | None = None
    auto_goal_id: str | None = None
    auto_task_id: str | None = None
    session_identity_channel: str
    session_identity_conversation_key: str = msgspec.field(name="SESSION_IDENTITY_CONVERSATION")


class Announced(Out, frozen=True, kw_only=True):
    """How a result was carried to its requester."""

    state: Literal["none", "pending", "delivered", "undelivered", "skipped"] = "none"
    attempts: int = 0


class Injected(Out, frozen=True, kw_only=True):
    """What a turn was given besides its message."""

    injected: bool = False
    layers: tuple[str, ...] = ()
    chars: int = 0
    degraded: str | None = None


class RunShape(Out, frozen=True, kw_only=True):
    """A run as every list and event of the API shows it."""

    id: str
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
    reply: str | None
    error: RunError | None
    task_id: str | None
    goal_id: str | None
    plan_id: str | None
    auto_run_id: str | None
    run_kind: str | None
    attributes: RunAttributes
    parent_run_id: str | None
    child_session_key: str | None
    label: str | None
    attempt: int
    attempts_max: int
    next_attempt_at: str | None
    queue_position: int | None
    timeout_seconds: int
    delivery_instruction_profile_version: str | None
    instructions_sha256: str | None
    tools_called: list[str]
    usage: RunUsage
    announce: Announced
    context: Injected
    created_at: str
    started_at: str | None
    ended_at: str | None


def run_shapes(tx: Tx, access: Access, runs: Iterable[Run]) -> list[RunShape]:
    """Runs with what is stored beside them; the queue of a lane is read once."""
    places: dict[str, dict[str, int]] = {}
    shapes = []
    for run in runs:
        if run.state == "queued" and run.key not in places:
            places[run.key] = queue_order(tx, access, run.key)
        shapes.append(_run_shape(tx, access, run, places.get(run.key, {}).get(run.id)))
    return shapes


def run_shape(tx: Tx, access: Access, run: Run) -> RunShape:
    """One run."""
    return run_shapes(tx, access, [run])[0]


def _run_shape(tx: Tx, access: Access, run: Run, place: int | None) -> RunShape:
    key = run.session_key
    channel, rest = key.identity
    retrying = run.state == "queued" and run.attempt > 0
    return RunShape(
        id=run.id,
        agent_id=run.agent_id,
        session_key=run.key,
        session_id=run.session_id,
        generation=run.generation,
        delivery_session_key=f"{run.key}:v{run.generation}" if run.generation else None,
        state=run.state,  # type: ignore[arg-type]
        waiting_for=run.waiting_for if run.state == "waiting" else None,  # type: ignore[arg-type]
        reason=run.reason,
        # A run that waits says here what it waits to hear.
        note=run.question if run.state == "waiting" else run.note,
        provenance=run.source(),
        message=_said(tx, access, run),
        joined_message_ids=[],
        reply=run.reply,
        error=RunError(code=run.error_code, message=run.error_message or "") if run.error_code else None,
        task_id=run.task_id or key.task_id,
        goal_id=None,
        plan_id=None,
        auto_run_id=None,
        run_kind=None,
        attributes=RunAttributes(session_identity_channel=channel, session_identity_conversation_key=rest),
        parent_run_id=run.parent_run_id,
        child_session_key=run.key if key.kind == "subagent" else None,
        label=run.label,
        attempt=max(1, run.attempt),
        attempts_max=run.attempts_max,
        next_attempt_at=iso(run.due_at) if retrying else None,
        queue_position=place,
        timeout_seconds=run.timeout_ms // 1000,
        delivery_instruction_profile_version=run.instructions_version,
        instructions_sha256=run.instructions_sha256,
        tools_called=tools_called(tx, access, run.id) if run.started_at else [],
        usage=_run_usage(run),
        announce=_announced(tx, access, run),
        context=Injected(),
        created_at=iso(run.created_at) or "",
        started_at=iso(run.started_at),
        ended_at=iso(run.ended_at),
    )


def _announced(tx: Tx, access: Access, run: Run) -> Announced:
    # Only what was sent or spawned has something to announce.
    sent = run.provenance_kind in ("inter_session", "spawn")
    exchange = exchange_after(tx, access, run.id) if sent else None
    if exchange is None:
        return Announced()
    return Announced(state="pending" if exchange.state == "open" else exchange.state, attempts=exchange.attempts)


def _said(tx: Tx, access: Access, run: Run) -> Said:
    heads = attachment_heads(tx, access, run.attached())
    files = [
        Attached(
            id=head.id, file_name=head.name, mime_type=head.mime_type, size_bytes=head.size_bytes, sha256=head.sha256
        )
        for head in heads
    ]
    return Said(id=run.message_id, text=run.text, attachments=files)


def _run_usage(run: Run) -> RunUsage:
    told = _usage(run.usage) if run.usage else {}
    return RunUsage(
        input_tokens=told.get("inputTokens", 0),
        output_tokens=told.get("outputTokens", 0),
        total_tokens=told.get("totalTokens", 0),
        cost_usd=told.get("costUsd"),
    )


class Waited(Out, frozen=True, kw_only=True):
    """What came of a run while somebody waited for it."""

    run_id: str
    status: Literal["accepted", "ok", "timeout", "error"]
    reply: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    session_key: str | UnsetType = UNSET


def waited(run: Run, *, with_key: bool = False) -> Waited:
    """A run as the answer to whoever waited for it; one that waits for a person itself says so as an error."""
    key = run.key if with_key else UNSET
    if run.state == "completed":
        return Waited(run_id=run.id, status="ok", reply=run.reply or "", session_key=key)
    if run.state == "waiting":
        asked = f"The run waits for {run.waiting_for} before it goes on: {run.question or 'no question was given'}"
        return Waited(run_id=run.id, status="error", error=asked, session_key=key)
    if run.ended:
        told = run.error_message or run.reason or run.error_code or "no reason was given"
        return Waited(run_id=run.id, status="error", error=f"The run {run.state}: {told}", session_key=key)
    return Waited(run_id=run.id, status="timeout", session_key=key)

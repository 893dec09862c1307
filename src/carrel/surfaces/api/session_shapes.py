"""The wire shape of sessions: a lane with one of its generations, as lists and single reads show it."""

from typing import Literal

from msgspec import UNSET, UnsetType

from carrel.journal import entries_by_session
from carrel.kernel import Access, SessionKey, iso, not_found
from carrel.runs import newest_end, running_of_lane
from carrel.sessions import Lane, LaneRow, Session, lane_row, shown_channel
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Out
from carrel.tools import MessageShape, message_shape

State = Literal["idle", "busy", "closed"]


class DeliveryContext(Out, frozen=True, kw_only=True):
    """Where a session was last spoken to."""

    channel: str
    to: str | None
    account_id: str


class PlanMode(Out, frozen=True, kw_only=True):
    """Whether a session plans instead of acting."""

    enabled: bool = False
    active_plan_id: str | None = None


class SessionShape(Out, frozen=True, kw_only=True):
    """A session as every list shows it."""

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
    delivery_context: DeliveryContext | UnsetType = UNSET
    transcript_path: str | None
    label: str | None
    account_id: str
    agent_id: str
    agent_slug: str
    session_key: str
    generation: int
    state: State
    opened_at: str | None
    closed_at: str | None
    closed_reason: str | None
    archived_at: str | None
    task_id: str | None
    topic_id: str | None
    spawned_by: str | None
    sandboxed: bool
    queued_runs: int
    delivery_session_key: str | None
    plan_mode: PlanMode
    messages: list[MessageShape] | UnsetType = UNSET


def shown_key(access: Access, key: SessionKey) -> str:
    """The key as this caller knows it: an agent's own main lane is `main` to that agent."""
    own = access.kind in ("agent", "run") and key == SessionKey(access.agent_id or "", "main")
    return "main" if own else str(key)


def session_shapes(tx: Tx, access: Access, rows: list[LaneRow], messages: int) -> list[SessionShape]:
    """Rows of a list, on demand with the last few messages of each."""
    ids = [row.session.id for row in rows if row.session is not None]
    spoken = entries_by_session(tx, access, ids, limit=messages) if messages else {}
    redacted = not access.is_person
    shapes = []
    for row in rows:
        entries = spoken.get(row.session.id if row.session else "", [])
        lines = [message_shape(entry, redacted=redacted) for entry in entries] if messages else UNSET
        shapes.append(_shape(tx, access, row, row.session, row.state, lines))
    return shapes


def session_shape(tx: Tx, access: Access, lane: Lane, session: Session | None) -> SessionShape:
    """One lane with the generation that was asked for, the newest when none was."""
    row = lane_row(tx, access, lane.key)
    if row is None:
        # Deleted since it was found.
        raise not_found("session")
    if session is None or (row.session is not None and session.id == row.session.id):
        return session_shapes(tx, access, [row], 0)[0]
    return _shape(tx, access, row, session, _generation_state(tx, access, row, session), UNSET)


def generation_shapes(tx: Tx, access: Access, lane: Lane, generations: list[Session]) -> list[SessionShape]:
    """Every kept generation of a lane, newest first."""
    return [session_shape(tx, access, lane, session) for session in generations]


def _generation_state(tx: Tx, access: Access, row: LaneRow, session: Session) -> State:
    """An older generation is busy only while a run that began in it goes on."""
    running = running_of_lane(tx, access, row.lane.key) if row.busy else None
    return "busy" if running is not None and running.session_id == session.id else "closed"


def _aborted(tx: Tx, access: Access, lane: Lane) -> bool:
    """True when the last run was cancelled."""
    return newest_end(tx, access, lane.key) == "cancelled"


def _shape(
    tx: Tx,
    access: Access,
    row: LaneRow,
    session: Session | None,
    state: str,
    messages: list[MessageShape] | UnsetType,
) -> SessionShape:
    lane = row.lane
    key = lane.session_key
    shown = shown_key(access, key)
    context = (
        DeliveryContext(channel=lane.last_channel, to=lane.last_to, account_id=access.account_id)
        if lane.last_channel
        else UNSET
    )
    return SessionShape(
        key=shown,
        kind=key.listed_kind,  # type: ignore[arg-type]
        channel=shown_channel(key, lane.last_channel),
        display_name=lane.display_name,
        updated_at=lane.updated_at,
        session_id=session.id if session else None,
        model=lane.model,
        context_tokens=lane.last_tokens,
        total_tokens=lane.total_tokens,
        thinking_level=lane.thinking_level,
        verbose_level=lane.verbose_level,
        system_sent=session is not None,
        aborted_last_run=_aborted(tx, access, lane),
        send_policy=lane.send_policy,  # type: ignore[arg-type]
        last_channel=lane.last_channel,
        last_to=lane.last_to,
        delivery_context=context,
        transcript_path=f"/api/sessions/{session.id}/history" if session else None,
        label=lane.label,
        account_id=access.account_id,
        agent_id=lane.agent_id,
        agent_slug=session.agent_slug if session else row.agent_slug,
        session_key=shown,
        generation=session.generation if session else 0,
        state=state,  # type: ignore[arg-type]
        opened_at=iso(session.opened_at) if session else None,
        closed_at=iso(session.closed_at) if session else None,
        closed_reason=session.closed_reason if session else None,
        archived_at=iso(lane.archived_at),
        task_id=key.task_id,
        topic_id=key.topic_id,
        spawned_by=lane.spawned_by,
        sandboxed=bool(lane.sandboxed),
        # What is running is counted with what is queued, and takes no place in the queue.
        queued_runs=max(0, lane.depth - int(row.busy)),
        delivery_session_key=session.address if session else None,
        plan_mode=PlanMode(),
        messages=messages,
    )

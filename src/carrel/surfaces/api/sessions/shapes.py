"""The JSON shape of sessions: a lane with one of its generations."""

from collections.abc import Mapping
from typing import Literal

from msgspec import structs

from carrel.agents import every_agent
from carrel.delivery import Connection
from carrel.gateway import model_window
from carrel.journal import entries_by_session
from carrel.kernel import Access, Shape, iso, not_found
from carrel.kernel.settings import Recall
from carrel.modes import PlanState, plan_state, states_of
from carrel.monitoring import awaited_of_lanes
from carrel.runs import live_runs_of_lane
from carrel.sessions import Lane, LaneRow, LaneTitle, Session, lane_row, titles_of
from carrel.storage import Tx
from carrel.tools import PlanMode, SessionRow, message_shape, session_row
from carrel.visibility import Recalls, entries_seen

State = Literal["idle", "busy", "closed"]
Awaited = Literal["input", "auth", "approval"]


class ContextWindow(Shape, frozen=True, kw_only=True):
    """How many tokens the last run of a session used; `modelTokens` is null if the model's limit is unknown."""

    used_tokens: int
    model_tokens: int | None = None


class SessionShape(SessionRow, frozen=True, kw_only=True):
    """A session as every list shows it; `waitingFor` says what a run of it needs from a person before it goes on."""

    title: str
    pinned: bool
    account_id: str
    agent_id: str
    agent_slug: str
    session_key: str
    generation: int
    state: State
    waiting_for: Awaited | None = None
    opened_at: str | None
    closed_at: str | None
    closed_reason: str | None
    archived_at: str | None
    task_id: str | None
    topic_id: str | None
    spawned_by: str | None
    sandboxed: bool
    recall: Recall
    queued_runs: int
    delivery_session_key: str | None
    plan_mode: PlanMode
    context_window: ContextWindow


def session_shapes(tx: Tx, access: Access, rows: list[LaneRow], messages: int) -> list[SessionShape]:
    """Return the rows of a list, each with its last `messages` messages."""
    ids = [row.session.id for row in rows if row.session is not None]
    entries_of = entries_by_session(tx, access, ids, limit=messages) if messages else {}
    redacted = not access.is_person
    keys = [row.lane.key for row in rows]
    planning, awaited = states_of(tx, access, keys), awaited_of_lanes(tx, access, keys)
    shapes, recalls, titles = [], Recalls(tx, access), titles_of(tx, access, keys)
    seen = entries_seen(tx, access, [entry.id for said in entries_of.values() for entry in said])
    for row in rows:
        planned, title = planning.get(row.lane.key) or PlanState(key=row.lane.key), titles.get(row.lane.key)
        shape = _shape(tx, access, recalls, row, row.state, planned, title)
        shape = structs.replace(shape, waiting_for=awaited.get(row.lane.key))
        if messages:
            entries = [entry for entry in entries_of.get(shape.session_id or "", []) if entry.id in seen]
            shape = structs.replace(shape, messages=[message_shape(entry, redacted=redacted) for entry in entries])
        shapes.append(shape)
    return shapes


def session_shape(tx: Tx, access: Access, lane: Lane, session: Session | None) -> SessionShape:
    """Return one lane with the given generation, or its newest one."""
    row = lane_row(tx, access, lane.key)
    if row is None:
        # Deleted since it was found.
        raise not_found("session")
    if session is None or (row.session is not None and session.id == row.session.id):
        return session_shapes(tx, access, [row], 0)[0]
    planning, state = plan_state(tx, access, lane.session_key), _generation_state(tx, access, row, session)
    older, title = structs.replace(row, session=session), titles_of(tx, access, [lane.key]).get(lane.key)
    return _shape(tx, access, Recalls(tx, access), older, state, planning, title)


def with_windows(
    tx: Tx, access: Access, shapes: list[SessionShape], connections: Mapping[str, Connection]
) -> list[SessionShape]:
    """Add the token limit of each session's model, if it is known."""
    agents = {agent.id: agent for agent in every_agent(tx, access)}

    def with_window(shape: SessionShape) -> SessionShape:
        agent = agents.get(shape.agent_id)
        connection = None if agent is None else connections.get(agent.gateway_among(connections))
        if agent is None or connection is None:
            return shape
        window = model_window(connection.gateway, connection.settings, shape.model or agent.profile.model)
        return structs.replace(shape, context_window=structs.replace(shape.context_window, model_tokens=window))

    return [with_window(shape) for shape in shapes]


def _generation_state(tx: Tx, access: Access, row: LaneRow, session: Session) -> State:
    """Return the state of an older generation: busy only while a run that started in it is running."""
    live = live_runs_of_lane(tx, access, row.lane.key) if row.busy else []
    return "busy" if any(run.state == "running" and run.session_id == session.id for run in live) else "closed"


def _shape(
    tx: Tx, access: Access, recalls: Recalls, row: LaneRow, state: str, planning: PlanState, title: LaneTitle | None
) -> SessionShape:  # fmt: skip
    lane, session = row.lane, row.session
    shown = session_row(tx, access, access.agent_id, row)
    return SessionShape(
        **structs.asdict(shown),
        # None when it was deleted since it was found.
        title="" if title is None else title.title,
        pinned=lane.pinned_at is not None,
        account_id=access.account_id,
        agent_id=lane.agent_id,
        agent_slug=session.agent_slug if session else row.agent_slug,
        session_key=shown.key,
        generation=session.generation if session else 0,
        state=state,  # type: ignore[arg-type]
        opened_at=iso(session.opened_at) if session else None,
        closed_at=iso(session.closed_at) if session else None,
        closed_reason=session.closed_reason if session else None,
        archived_at=iso(lane.archived_at),
        task_id=lane.session_key.task_id,
        topic_id=lane.session_key.topic_id,
        spawned_by=lane.spawned_by,
        sandboxed=bool(lane.sandboxed),
        recall=recalls.chosen(lane.kind, lane.agent_id, lane.recall)[0],
        # The depth includes the running run, which is not in the queue.
        queued_runs=max(0, lane.depth - int(row.busy)),
        delivery_session_key=session.address if session else None,
        plan_mode=PlanMode(enabled=planning.enabled, active_plan_id=planning.active_plan_id),
        context_window=ContextWindow(used_tokens=lane.last_tokens),
    )

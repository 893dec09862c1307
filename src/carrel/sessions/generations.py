"""How generations come and go.

Reset, reopen and respawn are one thing: close, and open the next at the next hearing.
"""

from msgspec import UNSET, structs

from carrel.agents import Agent, agent_by_id
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, SessionKey, not_found
from carrel.sessions import store
from carrel.sessions.model import ClosedReason, Lane, LaneChange, Session
from carrel.storage import Tx


def next_session(tx: Tx, lane: Lane, agent: Agent) -> Session:
    """The generation of a lane that would be opened next; nothing is written."""
    key = lane.session_key
    return Session(
        id=tx.new_id("ses"),
        key=lane.key,
        generation=lane.generation + 1,
        agent_id=agent.id,
        agent_slug=agent.slug,
        task_id=key.task_id,
        resolution="task-scoped" if key.kind == "task" else "base",
        opened_at=tx.now,
        closed_at=None,
        closed_reason=None,
    )


def open_generation(tx: Tx, access: Access, key: SessionKey, planned: Session | None = None) -> Session:
    """Return the open generation of a key, or open the next one, under the id that was planned for it."""
    # The lock comes first: of many that start at once one opens, the others find it open.
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        # Deleted with its runs: whoever still wants to be heard there has come too late.
        raise not_found("session")
    present = store.open_session_of(tx, access, lane.key)
    if present is not None:
        return present
    agent = agent_by_id(tx, access, key.agent)
    assert agent is not None, "a lane always has an agent"
    session = structs.replace(
        next_session(tx, lane, agent) if planned is None else planned,
        generation=store.issue_generation(tx, access, lane.key),
        opened_at=tx.now,
    )
    store.insert_session(tx, access, session)
    _tell(
        tx, access, "session.opened", key, session, {"generation": session.generation, "resolution": session.resolution}
    )
    METRICS.count("sessions.opened.count", resolution=session.resolution)
    return session


def close_generation(tx: Tx, access: Access, key: SessionKey, reason: ClosedReason) -> Session | None:
    """Close the open generation of a key, if there is one."""
    store.lock_lane(tx, access, str(key))
    session = store.open_session_of(tx, access, str(key))
    if session is None or not store.close_session(tx, access, session.id, reason):
        return None
    body = {"generation": session.generation, "resolution": session.resolution, "reason": reason}
    _tell(tx, access, "session.closed", key, session, body)
    METRICS.count("sessions.closed.count", reason=reason)
    return structs.replace(session, closed_at=tx.now, closed_reason=reason)


def make_lane(tx: Tx, access: Access, key: SessionKey) -> Lane:
    """The lane of a key, made where it was not, and held until the end of the transaction."""
    store.insert_lane(tx, access, key)
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        # It was there, so none was made, and it was deleted before it could be held.
        raise Refusal(Code.CONFLICT, f"{key} was deleted a moment ago; try again.")
    return lane


def change_lane(tx: Tx, access: Access, key: SessionKey, change: LaneChange) -> Lane:
    """Set what people may set on a lane and say which fields changed."""
    # Held before it is looked at: what somebody else sets at the same time is not taken back.
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        raise not_found("session")
    wanted = {name: value for name, value in structs.asdict(change).items() if value is not UNSET}
    different = {name: value for name, value in wanted.items() if getattr(lane, name) != value}
    if not different:
        return lane
    changed = structs.replace(lane, **different)
    store.update_lane(tx, access, changed)
    _updated(tx, access, lane, list(different))
    return changed


def archive(tx: Tx, access: Access, lane: Lane, *, archived: bool) -> None:
    """Hide a lane from lists and close its generation, or show it again; the transcript is kept either way."""
    if archived == (lane.archived_at is not None):
        return
    store.archive_lane(tx, access, lane.key, tx.now if archived else None)
    if archived:
        close_generation(tx, access, lane.session_key, "archived")
    _updated(tx, access, lane, ["archivedAt"])


def _updated(tx: Tx, access: Access, lane: Lane, fields: list[str]) -> None:
    body = json_text({"generation": lane.generation, "resolution": None, "fields": fields})
    append_event(tx, access, "session.updated", about_lane(lane.session_key, generation=lane.generation), body)


def _tell(tx: Tx, access: Access, name: str, key: SessionKey, session: Session, body: dict[str, object]) -> None:
    append_event(tx, access, name, about_lane(key, generation=session.generation), json_text(body))

"""Opening and closing generations, and changing lanes.

Reset, reopen and respawn are the same: close the generation; the next message opens the next one. Only a generation
closed by archiving can be reopened, until a newer one is opened or something else would have closed it.
"""

from msgspec import structs

from carrel.agents import Agent, agent_by_id
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, SessionKey, not_found
from carrel.sessions import store
from carrel.sessions.model import ClosedReason, Lane, LaneChange, RecallChanged, Session
from carrel.storage import Tx
from carrel.visibility import private_to


def next_session(tx: Tx, lane: Lane, agent: Agent) -> Session:
    """Return the generation of a lane that would be opened next, without writing it."""
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
    """Return the open generation of a key, or open the next one under the id planned for it."""
    # Lock first: if several runs start at once, one opens the generation and the others find it open.
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        # The lane was deleted together with its runs.
        raise not_found("session")
    present = store.open_session_of(tx, access, lane.key)
    if present is not None:
        return present
    if planned is None or planned.generation <= lane.generation:
        # A generation that was open when it was read has been closed since.
        agent = agent_by_id(tx, access, key.agent)
        assert agent is not None, "a lane always has an agent"
        planned = next_session(tx, lane, agent)
    session = structs.replace(planned, generation=store.issue_generation(tx, access, lane.key), opened_at=tx.now)
    store.insert_session(tx, access, session)
    _append_event(tx, access, "session.opened", session)
    METRICS.count("sessions.opened.count", access.account_id, resolution=session.resolution)
    return session


def close_generation(tx: Tx, access: Access, key: SessionKey, reason: ClosedReason) -> Session | None:
    """Close the open generation of a key, if there is one; an archived one stays closed for good."""
    lane = store.lock_lane(tx, access, str(key))
    session = store.open_session_of(tx, access, str(key))
    if session is None:
        _keep_closed(tx, access, lane, reason)
        return None
    store.close_session(tx, access, session.id, reason)
    _append_event(tx, access, "session.closed", session, reason=reason)
    METRICS.count("sessions.closed.count", access.account_id, reason=reason)
    return structs.replace(session, closed_at=tx.now, closed_reason=reason)


def make_lane(tx: Tx, access: Access, key: SessionKey) -> Lane:
    """Return the lane of a key, created if needed, and locked until the end of the transaction."""
    store.insert_lane(tx, access, key)
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        # It existed, so it was not inserted, and was deleted before it could be locked.
        raise Refusal(Code.CONFLICT, f"{key} was deleted just now; try again.")
    return lane


def change_lane(tx: Tx, access: Access, key: SessionKey, change: LaneChange) -> Lane:
    """Change the settings of a lane and append an event with the changed fields."""
    # Lock before reading, so that a concurrent change is not undone.
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        raise not_found("session")
    different = {name: value for name, value in change.given().items() if getattr(lane, name) != value}
    if not different:
        return lane
    changed = structs.replace(lane, **different)
    if "recall" in different:
        _require_sharing(tx, access, changed)
    store.update_lane(tx, access, changed)
    _append_updated(tx, access, lane, list(different))
    if "recall" in different:
        tx.publish(RecallChanged(access, key))
    return changed


def _require_sharing(tx: Tx, access: Access, lane: Lane) -> None:
    """Refuse to put somebody else's chat on the board: only that person may share it."""
    owner = private_to(tx, access, lane.key)
    if lane.recall == "space" and owner not in (None, access.actor_id):
        message = "This is another person's chat; only that person can put it on the board."
        raise Refusal(Code.FORBIDDEN, message, field="recall")


def set_archived(tx: Tx, access: Access, key: SessionKey, *, archived: bool) -> Session | None:
    """Archive a lane, or bring it back; return the generation that is reopened, if any.

    An archived lane is hidden from lists and its generation is closed; the transcript is kept.
    """
    # Locked, so that a run that starts now either finds the old generation open or has opened a newer one.
    lane = store.lock_lane(tx, access, str(key))
    if lane is None:
        raise not_found("session")
    if archived:
        _archive(tx, access, lane)
        return None
    return _restore(tx, access, lane)


def _archive(tx: Tx, access: Access, lane: Lane) -> None:
    if lane.archived_at is None:
        store.hide_lane(tx, access, lane.key)
        close_generation(tx, access, lane.session_key, "archived")
        _append_updated(tx, access, lane, ["archivedAt"])


def _restore(tx: Tx, access: Access, lane: Lane) -> Session | None:
    if lane.archived_at is not None:
        store.show_lane(tx, access, lane.key)
        _append_updated(tx, access, lane, ["archivedAt"])
    session = _archived_generation(tx, access, lane)
    if session is None:
        return None
    store.reopen_session(tx, access, session.id)
    _append_event(tx, access, "session.opened", session)
    METRICS.count("sessions.opened.count", access.account_id, resolution=session.resolution)
    return structs.replace(session, closed_at=None, closed_reason=None)


def _archived_generation(tx: Tx, access: Access, lane: Lane) -> Session | None:
    """Return the generation that can be reopened: the last one, if archiving closed it."""
    newest = store.generation_of(tx, access, lane.key, lane.generation)
    return newest if newest is not None and newest.closed_reason == "archived" else None


def _keep_closed(tx: Tx, access: Access, lane: Lane | None, reason: ClosedReason) -> None:
    """Record that something else would have closed an archived generation, so it cannot be reopened."""
    session = None if lane is None or reason == "archived" else _archived_generation(tx, access, lane)
    if lane is not None and session is not None:
        store.change_closed_reason(tx, access, session.id, reason)
        _append_updated(tx, access, lane, ["closedReason"])


def _append_updated(tx: Tx, access: Access, lane: Lane, fields: list[str]) -> None:
    body = json_text({"generation": lane.generation, "resolution": None, "fields": fields})
    append_event(tx, access, "session.updated", about_lane(lane.session_key, generation=lane.generation), body)


def _append_event(tx: Tx, access: Access, name: str, session: Session, **more: str) -> None:
    about = about_lane(SessionKey.stored(session.key), generation=session.generation)
    body = {"generation": session.generation, "resolution": session.resolution, **more}
    append_event(tx, access, name, about, json_text(body))

"""The registry of auto runs: starting, finding, showing, stopping and ending one, always together with its event.

An auto run leaves the registry when it ends; its row is kept as long as its ticks.
"""

from logging import getLogger
from typing import Annotated

from msgspec import Meta, structs

from carrel.journal import NewEntry, about_lane, append_entry, append_event, json_text
from carrel.kernel import (
    METRICS,
    MS_PER_DAY,
    MS_PER_SECOND,
    PEOPLE,
    Access,
    Code,
    Input,
    Provenance,
    Refusal,
    SessionKey,
    Shape,
    invalid,
    iso,
    limits,
    not_found,
)
from carrel.kernel.fields import Id, Text
from carrel.modes.auto import store
from carrel.modes.auto.model import AUTO_MOVES, AutoReason, AutoRun, AutoStatus, RunKind
from carrel.modes.auto.targets import first_task
from carrel.modes.lanes import ensure_lane
from carrel.outbox import post_text
from carrel.runs import LaneStopped, Rules, RunChanged, cancel, run_by_id
from carrel.sessions import LaneDeleted, lane_of, lock_lane, open_generation
from carrel.storage import Database, Tx
from carrel.visibility import may_see

_log = getLogger("carrel.modes")
_STOPPED: AutoReason = "session_stopped"
# The notice in a session when one of its auto runs ends by itself.
_NOTICES: dict[str | None, str] = {
    "task_done": "Auto run {id} has ended: task {task} is done.",
    "goal_done": "Auto run {id} has ended: goal {goal} has no open task left.",
    "task_archived": "Auto run {id} was stopped: task {task} is archived.",
    "goal_ended": "Auto run {id} was stopped: there is no goal {goal} to work on any more.",
    "max_ticks": "Auto run {id} was stopped: it has used all its ticks, and task {task} is not done.",
    "tick_failed": "Auto run {id} on task {task} has failed: {error}",
    "server_restarted": "The server was restarted, so auto run {id} on task {task} was interrupted. Start it again "
    "with /auto on.",
}


class Identity(Shape, frozen=True, kw_only=True):
    """The identity of a session."""

    channel_type: str
    conversation_key: str


class AutoShape(Shape, frozen=True, kw_only=True):
    """An auto run as the API and the feed show it."""

    run_id: str
    run_kind: RunKind
    session_id: str
    session_identity: Identity
    session_key: str
    goal_id: str | None
    task_id: str
    status: AutoStatus
    reason: AutoReason | None
    interval_seconds: int | None
    tick_count: int
    last_tick_at: str | None
    next_tick_at: str | None
    started_at: str | None
    ended_at: str | None


def auto_shape(auto: AutoRun) -> AutoShape:
    """Return an auto run as it is shown."""
    key = auto.session_key
    channel, rest = key.identity
    return AutoShape.of(
        auto,
        run_id=auto.id,
        session_id=key.conversation,
        session_identity=Identity(channel_type=channel, conversation_key=rest),
        session_key=auto.key,
        next_tick_at=iso(auto.due_at) if auto.status == "active" else None,
        started_at=iso(auto.created_at),
    )


def publish(tx: Tx, name: str, auto: AutoRun, run_id: str | None = None) -> None:
    """Publish an event of an auto run and log it."""
    about = structs.replace(about_lane(auto.session_key), task_id=auto.task_id, run_id=run_id)
    append_event(tx, auto.access, name, about, json_text({"run": auto_shape(auto)}))
    _log.info(name.replace(".", "_"), extra=auto.log_fields(run_id) | {"status": auto.status})


def hold(tx: Tx, seen: AutoRun) -> AutoRun | None:
    """Lock an auto run behind its lane and return its current state; None when it has ended."""
    lock_lane(tx, seen.access, seen.key)
    auto = store.auto_run_by_id(tx, seen.access, seen.id, hold=True)
    return auto if auto is not None and AUTO_MOVES[auto.status] else None


def end(tx: Tx, auto: AutoRun, status: AutoStatus, reason: AutoReason | None, error: str = "") -> AutoRun:
    """End a locked auto run; its session gets a notice, unless a person asked for the end."""
    assert status in AUTO_MOVES[auto.status], f"{auto.status} does not move to {status}"
    ended = structs.replace(auto, status=status, reason=auto.reason or reason, due_at=None, ended_at=tx.now)
    store.keep_auto_run(tx, auto.access, ended)
    METRICS.count("auto.run.completed.count", auto.account_id, runKind=auto.run_kind, status=status)
    publish(tx, "auto.stopped", ended)
    if ended.reason in _NOTICES:
        _tell(tx, ended, _NOTICES[ended.reason].format(id=auto.id, task=auto.task_id, goal=auto.goal_id, error=error))
    return ended


def stop(tx: Tx, seen: AutoRun, reason: AutoReason) -> AutoRun | None:
    """Stop an auto run: no more ticks start. A queued tick is cancelled here, a running one is asked to stop.

    Return None if it had ended.
    """
    if (auto := hold(tx, seen)) is None:
        return None
    cancel_tick(tx, auto)
    tick = None if auto.tick_run_id is None else run_by_id(tx, auto.access, auto.tick_run_id)
    if tick is None or tick.ended:
        return end(tx, auto, "stopped", reason)
    stopping = structs.replace(auto, status="stopping", reason=auto.reason or reason, due_at=None)
    store.keep_auto_run(tx, auto.access, stopping)
    return stopping


def cancel_tick(tx: Tx, auto: AutoRun) -> None:
    """Cancel the tick of a locked auto run, if it is queued or running."""
    if auto.tick_run_id is not None:
        cancel(tx, auto.access, auto.tick_run_id, "stopped")


def _tell(tx: Tx, auto: AutoRun, text: str) -> None:
    """Write a notice into the session of an auto run, and post it to the chat where the session was last used."""
    key = auto.session_key
    if (lane := lane_of(tx, auto.access, key)) is None:
        return
    notice = NewEntry(
        type="system",
        role="system",
        content=text,
        author="system",
        author_kind="system",
        provenance=Provenance(kind="auto", actor=auto.id),
        key=auto.key,
        session_id=open_generation(tx, auto.access, key).id,
        agent_id=key.agent,
        auto_run_id=auto.id,
    )
    append_entry(tx, auto.access, notice)
    if lane.chat_address is not None:
        post_text(tx, auto.access, *lane.chat_address, text, speaker=key)


def observe_sessions(db: Database) -> None:
    """Register the observers of ended ticks, and of stopped or deleted sessions with auto runs."""
    db.observe(RunChanged, _wake)
    db.observe(LaneStopped, _stop_all)
    # If the key is created again, earlier auto runs must not appear there.
    db.observe(LaneDeleted, lambda tx, deleted: store.delete_auto_runs(tx, deleted.access, str(deleted.key)))


def _wake(tx: Tx, changed: RunChanged) -> None:
    run = changed.run
    if run.auto_run_id is not None and changed.ended:
        store.look_again(tx, run.access, run.auto_run_id, run.id)


def _stop_all(tx: Tx, stopped: LaneStopped) -> None:
    for auto in store.auto_runs_of_session(tx, stopped.access, stopped.key):
        stop(tx, auto, _STOPPED)


def prune_auto_runs(tx: Tx, access: Access, retention_days: float) -> int:
    """Delete a batch of auto runs that ended long ago and have no ticks left; return how many."""
    before = tx.now - int(retention_days * MS_PER_DAY)
    return store.delete_ended(tx, access, before, limit=limits.PRUNE_ROWS_MAX) if retention_days else 0


class AutoRunFields(Input, frozen=True, kw_only=True):
    """What to work on: a goal, a task, or a task that is made from a text; a new task without any of them."""

    goal_id: Id | None = None
    task_id: Id | None = None
    text: Text | None = None
    interval_seconds: Annotated[int, Meta(ge=1, le=limits.AUTO_INTERVAL_SECONDS_MAX)] | None = None


class NewAutoRun(AutoRunFields, frozen=True, kw_only=True):
    """An auto run to start, and its session."""

    key: SessionKey


def start_auto(tx: Tx, access: Access, new: NewAutoRun, rules: Rules) -> AutoRun:
    """Start an auto run, and its session if that does not exist. Its first tick is due at once."""
    # By starting it, a person agrees to what it does with its task.
    access.require(*PEOPLE, "system")
    if new.interval_seconds is not None and not 1 <= new.interval_seconds <= limits.AUTO_INTERVAL_SECONDS_MAX:
        raise invalid("intervalSeconds", f"Use 1 to {limits.AUTO_INTERVAL_SECONDS_MAX} seconds.")
    task = first_task(tx, access, new.key, rules, goal_id=new.goal_id, task_id=new.task_id, text=new.text)
    _prepare_lane(tx, access, new.key)
    auto = AutoRun(
        account_id=access.account_id,
        id=tx.new_id("auto"),
        key=str(new.key),
        made_by=access.actor_id,
        goal_id=new.goal_id,
        task_id=task.id,
        status="active",
        interval_seconds=new.interval_seconds,
        due_at=tx.now,
        alive_until=tx.now + limits.AUTO_LEASE_SECONDS * MS_PER_SECOND,
        created_at=tx.now,
        updated_at=tx.now,
        space_ids=access.space_ids,
        behalf=access.speaks_for,
    )
    store.insert_auto_run(tx, access, auto)
    METRICS.count("auto.run.started.count", access.account_id, runKind=auto.run_kind, channel=new.key.identity[0])
    publish(tx, "auto.started", auto)
    return auto


def _prepare_lane(tx: Tx, access: Access, key: SessionKey) -> None:
    """Create and lock the lane; refuse if there are too many auto runs."""
    ensure_lane(tx, access, key)
    lock_lane(tx, access, str(key))
    if len(store.auto_runs_of_session(tx, access, key)) >= limits.AUTO_RUNS_PER_SESSION_MAX:
        why = f"A session has at most {limits.AUTO_RUNS_PER_SESSION_MAX} auto runs; stop some."
        raise Refusal(Code.LIMIT_REACHED, why)
    if store.count_live(tx, access) >= limits.AUTO_RUNS_PER_ACCOUNT_MAX:
        why = f"An account has at most {limits.AUTO_RUNS_PER_ACCOUNT_MAX} auto runs; stop some."
        raise Refusal(Code.LIMIT_REACHED, why)


def find_auto_run(tx: Tx, access: Access, auto_run_id: str) -> AutoRun:
    """Return an auto run by id, of a session that the caller may see."""
    auto = store.auto_run_by_id(tx, access, auto_run_id)
    lane = None if auto is None else lane_of(tx, access, auto.session_key)
    if auto is None or lane is None or not may_see(tx, access, auto.session_key, lane.made_by):
        raise not_found("auto run")
    return auto


def stop_auto(tx: Tx, access: Access, *, key: SessionKey | None = None, auto_run_id: str | None = None) -> list[str]:
    """Stop one auto run, or all of a session; return the ids of those that had not ended.

    Once this is committed, none of their ticks starts any more.
    """
    access.require(*PEOPLE, "system")
    if auto_run_id is not None:
        found = [find_auto_run(tx, access, auto_run_id)]
    else:
        assert key is not None, "an auto run or a session is named"
        found = store.auto_runs_of_session(tx, access, key)
    return [auto.id for auto in found if stop(tx, auto, "requested") is not None]

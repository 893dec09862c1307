"""Starting, finding and stopping auto runs."""

from msgspec import Struct

from carrel.kernel import METRICS, MS_PER_SECOND, PEOPLE, Access, Code, Refusal, SessionKey, invalid, not_found
from carrel.kernel.limits import (
    AUTO_INTERVAL_SECONDS_MAX,
    AUTO_LEASE_SECONDS,
    AUTO_RUNS_PER_ACCOUNT_MAX,
    AUTO_RUNS_PER_SESSION_MAX,
)
from carrel.modes.auto import store
from carrel.modes.auto.model import AutoRun
from carrel.modes.auto.registry import publish, stop
from carrel.modes.auto.targets import first_task
from carrel.modes.lanes import ensure_lane
from carrel.runs import Rules
from carrel.sessions import lane_of, lock_lane
from carrel.storage import Tx
from carrel.visibility import may_see


class NewAutoRun(Struct, frozen=True, kw_only=True):
    """An auto run to start: of a session, for a goal, for a task, or for a task created from a text."""

    key: SessionKey
    goal_id: str | None = None
    task_id: str | None = None
    text: str | None = None
    interval_seconds: int | None = None


def start_auto(tx: Tx, access: Access, new: NewAutoRun, rules: Rules) -> AutoRun:
    """Start an auto run, and its session if that does not exist. Its first tick is due at once."""
    # By starting it, a person agrees to what it does with its task.
    access.require(*PEOPLE, "system")
    if new.interval_seconds is not None and not 1 <= new.interval_seconds <= AUTO_INTERVAL_SECONDS_MAX:
        raise invalid("intervalSeconds", f"Use 1 to {AUTO_INTERVAL_SECONDS_MAX} seconds.")
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
        alive_until=tx.now + AUTO_LEASE_SECONDS * MS_PER_SECOND,
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
    if len(store.auto_runs_of(tx, access, str(key), limit=AUTO_RUNS_PER_SESSION_MAX)) >= AUTO_RUNS_PER_SESSION_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A session has at most {AUTO_RUNS_PER_SESSION_MAX} auto runs; stop some.")
    if store.count_live(tx, access) >= AUTO_RUNS_PER_ACCOUNT_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"An account has at most {AUTO_RUNS_PER_ACCOUNT_MAX} auto runs; stop some.")


def find_auto_run(tx: Tx, access: Access, auto_run_id: str) -> AutoRun:
    """Return an auto run by id, of a session that the caller may see."""
    auto = store.auto_run_by_id(tx, access, auto_run_id)
    lane = None if auto is None else lane_of(tx, access, auto.session_key)
    if auto is None or lane is None or not may_see(tx, access, auto.session_key, lane.made_by):
        raise not_found("auto run")
    return auto


def auto_runs_of_session(
    tx: Tx, access: Access, key: SessionKey, *, ended: bool = False, limit: int = AUTO_RUNS_PER_SESSION_MAX
) -> list[AutoRun]:  # fmt: skip
    """Return the auto runs of a session, newest first; with `ended` also those that have ended."""
    return store.auto_runs_of(tx, access, str(key), ended=ended, limit=limit)


def stop_auto(tx: Tx, access: Access, *, key: SessionKey | None = None, auto_run_id: str | None = None) -> list[str]:
    """Stop one auto run, or all of a session; return the ids of those that had not ended.

    Once this is committed, none of their ticks starts any more.
    """
    access.require(*PEOPLE, "system")
    if auto_run_id is not None:
        found = [find_auto_run(tx, access, auto_run_id)]
    else:
        assert key is not None, "an auto run or a session is named"
        found = auto_runs_of_session(tx, access, key)
    return [auto.id for auto in found if stop(tx, auto, "requested") is not None]

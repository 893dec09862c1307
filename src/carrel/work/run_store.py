"""The SQL of the runs of tasks: how they relate to tasks, ends that are not handled yet, and stalls."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import RUN_TABLE, Run
from carrel.storage import Due, Row, Table, Tx

# Only runs of these kinds bring a task something that others wait for: an answer in its thread.
ANSWERING_KINDS = ("notification", "external_user")
_OF_TASK = f"{RUN_TABLE.select} WHERE account_id = :account AND task_id = :task_id"
# The plan that the run's agent works on was approved; from then on its tasks decide its status.
_IS_PLANNED = (
    "EXISTS (SELECT 1 FROM tasks JOIN plans ON plans.account_id = :account AND plans.id = tasks.plan_id "
    "WHERE tasks.account_id = :account AND tasks.id = runs.task_id AND plans.agent_id = runs.agent_id "
    "AND plans.status IN ('working', 'blocked', 'failed'))"
)


class TaskRelation(Struct, frozen=True, kw_only=True):
    """How a run relates to tasks: its task, whether it is a tick, of a begun plan, and limited to spaces."""

    task_id: str | None = None
    is_tick: bool = False
    is_planned: bool = False
    is_limited: bool = False
    # Whether it ends with an answer in the thread, and whether it is a heartbeat, which does not.
    is_answering: bool = False
    is_heartbeat: bool = False


def place_of_run(tx: Tx, access: Access, run_id: str, run: Run | None = None) -> TaskRelation:
    """Return how a run relates to tasks; `run` is that run, if already read."""
    if run is not None and run.id == run_id and run.task_id is None:
        row: Row | None = (None, run.auto_run_id, run.space_ids, 0, run.provenance_kind)
    else:
        columns = f"task_id, auto_run_id, space_ids, {_IS_PLANNED}, provenance_kind"
        row = tx.one(f"SELECT {columns} FROM runs WHERE account_id = :account AND id = :id", access, id=run_id)
    if row is None:
        return TaskRelation()
    task_id, auto_run_id, space_ids, is_planned, kind = row
    return TaskRelation(
        task_id=task_id, is_tick=auto_run_id is not None, is_planned=bool(is_planned),
        is_limited=space_ids is not None, is_answering=kind in ANSWERING_KINDS, is_heartbeat=kind == "heartbeat",
    )  # fmt: skip


def live_runs_of_task(tx: Tx, access: Access, task_id: str) -> list[Run]:
    """Return the running, queued and waiting runs of a task, newest first within a lane."""
    sql = f"{_OF_TASK} AND state IN ('running', 'queued', 'waiting') ORDER BY key, seq DESC"
    return RUN_TABLE.rows(tx.all(sql, access, task_id=task_id))


def newest_run_of_task(tx: Tx, access: Access, task_id: str) -> Run | None:
    return RUN_TABLE.row(tx.one(f"{_OF_TASK} ORDER BY id DESC LIMIT 1", access, task_id=task_id))


def newest_runs_of_tasks(tx: Tx, access: Access, task_ids: Iterable[str], agent_id: str) -> dict[str, Run]:
    """Return the newest run of an agent on each of several tasks, ticks of auto runs excluded."""
    sql = f"{_OF_TASK} AND agent_id = :agent_id AND auto_run_id IS NULL ORDER BY id DESC LIMIT 1"
    rows = ((task_id, tx.one(sql, access, task_id=task_id, agent_id=agent_id)) for task_id in task_ids)
    return {task_id: RUN_TABLE.row(row) for task_id, row in rows if row is not None}


def closable_lanes_of_task(tx: Tx, access: Access, task_id: str) -> list[str]:
    """Return the keys of a task's lanes whose session is open or was closed by archiving, in order."""
    sql = (
        "SELECT DISTINCT key FROM sessions WHERE account_id = :account AND task_id = :task_id "
        "AND (closed_at IS NULL OR closed_reason = 'archived') ORDER BY key"
    )
    return [row[0] for row in tx.all(sql, access, task_id=task_id)]


class RunEnd(Struct, frozen=True, kw_only=True):
    """An ended run of a task that is not handled yet."""

    account_id: str
    run_id: str
    task_id: str
    due_at: int


RUN_ENDS = Due(Table("task_run_ends", RunEnd, key=("account_id", "run_id")), "task_run_ends")


def note_run_end(tx: Tx, access: Access, run_id: str, task_id: str) -> None:
    """Record that the end of a run still has to be handled."""
    sql = (
        "INSERT INTO task_run_ends (account_id, run_id, task_id, due_at) VALUES (:account, :run_id, :task_id, :now) "
        "ON CONFLICT DO NOTHING"
    )
    tx.run(sql, access, run_id=run_id, task_id=task_id, now=tx.now)


def finish_run_end(tx: Tx, access: Access, run_id: str) -> bool:
    """Mark the end of a run as handled; False if another server already did."""
    sql = "DELETE FROM task_run_ends WHERE account_id = :account AND run_id = :run_id"
    return tx.run(sql, access, run_id=run_id) > 0


class Stall(Struct, frozen=True, kw_only=True):
    """A task whose last run has ended, how often its agent was reminded, and when next; None: a person must act."""

    account_id: str
    task_id: str
    run_id: str
    taken_up: int
    due_at: int | None


_STALLS = Table("stalls", Stall, key=("account_id", "task_id"))
STALLS = Due(_STALLS, "stalls")


def put_stall(tx: Tx, access: Access, stall: Stall) -> None:
    tx.run(_STALLS.upsert, access, **_STALLS.values(stall))


def stall_of(tx: Tx, access: Access, task_id: str) -> Stall | None:
    sql = f"{_STALLS.select} WHERE account_id = :account AND task_id = :task_id"
    return _STALLS.row(tx.one(sql, access, task_id=task_id))


def delete_stall(tx: Tx, access: Access, task_id: str) -> None:
    tx.run("DELETE FROM stalls WHERE account_id = :account AND task_id = :task_id", access, task_id=task_id)

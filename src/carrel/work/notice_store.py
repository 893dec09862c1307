"""The SQL of notices and response requests, and of ended runs that are not handled yet."""

from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.limits import STALL_PAUSES_MINUTES
from carrel.runs import RUN_TABLE, Run
from carrel.storage import Table, Tx
from carrel.work.model import NoticeType

# Later than every date.
_NEVER = 2**62


class Notice(Struct, frozen=True, kw_only=True):
    """One piece of news about a task that a run brings its agent: a thread message or a change."""

    run_id: str
    seq: int
    task_id: str
    type: NoticeType
    entry_id: str | None
    author_kind: str
    author_id: str
    author_name: str


class ResponseRequest(Struct, frozen=True, kw_only=True):
    """The newest response that an agent was asked for on a task."""

    task_id: str
    agent_id: str
    run_id: str
    delivered_at: int | None = None
    answered_at: int | None = None


class RunEnd(Struct, frozen=True, kw_only=True):
    """An ended run of a task that is not handled yet."""

    account_id: str
    run_id: str
    task_id: str
    due_at: int


_NOTICES = Table("notices", Notice, key=("account_id", "run_id", "seq"))
_REQUESTS = Table("response_requests", ResponseRequest, key=("account_id", "task_id", "agent_id"))
_OF_AGENT = "account_id = :account AND task_id = :task_id AND agent_id = :agent_id"
_RUNS_OF_TASK = f"{RUN_TABLE.select} WHERE account_id = :account AND task_id = :task_id"
_ENDS = Table("task_run_ends", RunEnd, key=("account_id", "run_id"))


def insert_notice(tx: Tx, access: Access, notice: Notice) -> None:
    """Write a notice."""
    tx.run(_NOTICES.insert, access, **_NOTICES.values(notice))


def notices_of(tx: Tx, access: Access, run_ids: Iterable[str]) -> dict[str, list[Notice]]:
    """Return the notices of several runs, by run, in order."""
    found = _NOTICES.among(tx, access, "run_id", run_ids, "ORDER BY run_id, seq")
    return {run_id: list(notices) for run_id, notices in groupby(found, key=lambda notice: notice.run_id)}


def waiting_update(tx: Tx, access: Access, key: str, task_id: str) -> Run | None:
    """Return the newest thread_update of a task that is queued in a lane and not started."""
    sql = (
        f"{RUN_TABLE.select} WHERE account_id = :account AND key = :key AND state = 'queued' AND task_id = :task_id "
        "AND attempt = 0 AND session_id IS NULL AND id IN (SELECT run_id FROM notices "
        "WHERE account_id = :account AND task_id = :task_id AND type = 'thread_update') ORDER BY seq DESC LIMIT 1"
    )
    return RUN_TABLE.row(tx.one(sql, access, key=key, task_id=task_id))


def live_runs_of_task(tx: Tx, access: Access, task_id: str) -> list[Run]:
    """Return the running, queued and waiting runs of a task, newest first within a lane."""
    sql = f"{_RUNS_OF_TASK} AND state IN ('running', 'queued', 'waiting') ORDER BY key, seq DESC"
    return RUN_TABLE.rows(tx.all(sql, access, task_id=task_id))


def newest_run_of_task(tx: Tx, access: Access, task_id: str) -> Run | None:
    """Return the newest run of a task."""
    return RUN_TABLE.row(tx.one(f"{_RUNS_OF_TASK} ORDER BY id DESC LIMIT 1", access, task_id=task_id))


def newest_runs_of_tasks(tx: Tx, access: Access, task_ids: Iterable[str], agent_id: str) -> dict[str, Run]:
    """Return the newest run of an agent on each of several tasks, ticks of auto runs excluded."""
    sql = f"{_RUNS_OF_TASK} AND agent_id = :agent_id AND auto_run_id IS NULL ORDER BY id DESC LIMIT 1"
    rows = ((task_id, tx.one(sql, access, task_id=task_id, agent_id=agent_id)) for task_id in task_ids)
    return {task_id: RUN_TABLE.row(row) for task_id, row in rows if row is not None}


def closable_lanes_of_task(tx: Tx, access: Access, task_id: str) -> list[str]:
    """Return the keys of a task's lanes whose session is open or was closed by archiving, in order."""
    sql = (
        "SELECT DISTINCT key FROM sessions WHERE account_id = :account AND task_id = :task_id "
        "AND (closed_at IS NULL OR closed_reason = 'archived') ORDER BY key"
    )
    return [row[0] for row in tx.all(sql, access, task_id=task_id)]


def request_of(tx: Tx, access: Access, task_id: str, agent_id: str) -> ResponseRequest | None:
    """Return the newest request for a response from an agent on a task."""
    sql = f"{_REQUESTS.select} WHERE {_OF_AGENT}"
    return _REQUESTS.row(tx.one(sql, access, task_id=task_id, agent_id=agent_id))


def put_request(tx: Tx, access: Access, request: ResponseRequest) -> None:
    """Write a request to an agent, replacing the earlier one."""
    sql = (
        f"{_REQUESTS.insert} ON CONFLICT (account_id, task_id, agent_id) DO UPDATE SET run_id = excluded.run_id, "
        "delivered_at = excluded.delivered_at, answered_at = excluded.answered_at"
    )
    tx.run(sql, access, **_REQUESTS.values(request))


def note_run_end(tx: Tx, access: Access, run_id: str, task_id: str) -> None:
    """Record that the end of a run still has to be handled."""
    sql = (
        "INSERT INTO task_run_ends (account_id, run_id, task_id, due_at) VALUES (:account, :run_id, :task_id, :now) "
        "ON CONFLICT DO NOTHING"
    )
    tx.run(sql, access, run_id=run_id, task_id=task_id, now=tx.now)


def run_ends_due(tx: Tx, limit: int) -> list[RunEnd]:
    """Return ended runs across all accounts that are due to be handled."""
    sql = f"{_ENDS.select} WHERE due_at <= :now ORDER BY due_at LIMIT :limit"
    return _ENDS.rows(tx.all(sql, now=tx.now, limit=limit))


def next_run_end_due(tx: Tx) -> int | None:
    """Return when the end of a run is next due, across all accounts."""
    return tx.value("SELECT due_at FROM task_run_ends ORDER BY due_at LIMIT 1")


def finish_run_end(tx: Tx, access: Access, run_id: str) -> bool:
    """Mark the end of a run as handled; False if another server already did."""
    sql = "DELETE FROM task_run_ends WHERE account_id = :account AND run_id = :run_id"
    return tx.run(sql, access, run_id=run_id) > 0


def postpone_run_end(tx: Tx, access: Access, run_id: str, until: int) -> None:
    """Handle the end of a run later."""
    sql = "UPDATE task_run_ends SET due_at = :until WHERE account_id = :account AND run_id = :run_id"
    tx.run(sql, access, run_id=run_id, until=until)


def deliver_request(tx: Tx, access: Access, task_id: str, agent_id: str, run_id: str) -> None:
    """Record that an agent received the request that a run brings."""
    only = f"{_OF_AGENT} AND run_id = :run_id AND delivered_at IS NULL"
    sql = f"UPDATE response_requests SET delivered_at = :now WHERE {only}"
    tx.run(sql, access, task_id=task_id, agent_id=agent_id, run_id=run_id, now=tx.now)


def answer_request(tx: Tx, access: Access, task_id: str, agent_id: str, *, run_id: str | None = None) -> None:
    """Record that an agent answered its request, or that the given run will not bring the answer."""
    only, values = ("", {}) if run_id is None else (" AND run_id = :run_id", {"run_id": run_id})
    sql = f"UPDATE response_requests SET answered_at = :now WHERE {_OF_AGENT} AND answered_at IS NULL{only}"
    tx.run(sql, access, task_id=task_id, agent_id=agent_id, now=tx.now, **values)


class Stall(Struct, frozen=True, kw_only=True):
    """A task whose last run has ended, how often its agent was reminded, and when next; None: a person must act."""

    account_id: str
    task_id: str
    run_id: str
    taken_up: int
    due_at: int | None


_STALLS = Table("stalls", Stall, key=("account_id", "task_id"))


def put_stall(tx: Tx, access: Access, stall: Stall) -> None:
    """Write the stall of a task, replacing an earlier one."""
    changes = "run_id = excluded.run_id, taken_up = excluded.taken_up, due_at = excluded.due_at"
    sql = f"{_STALLS.insert} ON CONFLICT (account_id, task_id) DO UPDATE SET {changes}"
    tx.run(sql, access, **_STALLS.values(stall))


def stall_of(tx: Tx, access: Access, task_id: str) -> Stall | None:
    """Return the stall of a task."""
    sql = f"{_STALLS.select} WHERE account_id = :account AND task_id = :task_id"
    return _STALLS.row(tx.one(sql, access, task_id=task_id))


def delete_stall(tx: Tx, access: Access, task_id: str) -> None:
    """Forget the stall of a task."""
    tx.run("DELETE FROM stalls WHERE account_id = :account AND task_id = :task_id", access, task_id=task_id)


def stalls_due(tx: Tx, limit: int) -> list[Stall]:
    """Return stalls across all accounts that are due now."""
    sql = f"{_STALLS.select} WHERE due_at <= :now ORDER BY due_at LIMIT :limit"
    return _STALLS.rows(tx.all(sql, now=tx.now, limit=limit))


def next_stall_due(tx: Tx) -> int | None:
    """Return when the next reminder is due, across all accounts."""
    return tx.value("SELECT due_at FROM stalls WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")


def postpone_stall(tx: Tx, access: Access, task_id: str, until: int) -> None:
    """Postpone a stall."""
    sql = "UPDATE stalls SET due_at = :until WHERE account_id = :account AND task_id = :task_id"
    tx.run(sql, access, task_id=task_id, until=until)


class Heartbeat(Struct, frozen=True, kw_only=True):
    """The next heartbeat of an agent; it is sent if something changed after `seq`."""

    account_id: str
    agent_id: str
    due_at: int
    seq: int


class Trace(Struct, frozen=True):
    """The parts of an entry that say whom it concerns and who wrote it, without its content."""

    seq: int
    key: str | None
    task_id: str | None
    task_view: str | None
    author: str
    author_kind: str
    provenance: str


class Due(Struct, frozen=True):
    """A task that an agent has to look at, even if nothing has changed there."""

    id: str
    due_date: int | None
    # Whether its reminders are used up, and whether somebody waits for the agent's response.
    is_stalled: int
    is_asked: int


_HEARTBEATS = Table("heartbeats", Heartbeat, key=("account_id", "agent_id"))


def put_heartbeat(tx: Tx, access: Access, heartbeat: Heartbeat) -> None:
    """Write when an agent's next heartbeat is due, replacing the earlier one."""
    known = "ON CONFLICT (account_id, agent_id) DO UPDATE SET due_at = excluded.due_at, seq = excluded.seq"
    tx.run(f"{_HEARTBEATS.insert} {known}", access, **_HEARTBEATS.values(heartbeat))


def delete_heartbeat(tx: Tx, access: Access, agent_id: str) -> None:
    """Stop the heartbeats of an agent."""
    sql = "DELETE FROM heartbeats WHERE account_id = :account AND agent_id = :agent_id"
    tx.run(sql, access, agent_id=agent_id)


def heartbeats_due(tx: Tx, limit: int) -> list[Heartbeat]:
    """Return heartbeats across all accounts that are due now."""
    sql = f"{_HEARTBEATS.select} WHERE due_at <= :now ORDER BY due_at LIMIT :limit"
    return _HEARTBEATS.rows(tx.all(sql, now=tx.now, limit=limit))


def next_heartbeat_due(tx: Tx) -> int | None:
    """Return when a heartbeat is next due, across all accounts."""
    return tx.value("SELECT due_at FROM heartbeats ORDER BY due_at LIMIT 1")


def hold_heartbeat(tx: Tx, access: Access, agent_id: str) -> Heartbeat | None:
    """Return the heartbeat of an agent, locked until the end of the transaction."""
    sql = f"{_HEARTBEATS.select} WHERE account_id = :account AND agent_id = :agent_id FOR UPDATE"
    return _HEARTBEATS.row(tx.one(sql, access, agent_id=agent_id))


def postpone_heartbeat(tx: Tx, access: Access, heartbeat: Heartbeat, until: int) -> None:
    """Make a heartbeat due later, if it is unchanged."""
    mine = "account_id = :account AND agent_id = :agent_id"
    sql = f"UPDATE heartbeats SET due_at = :until WHERE {mine} AND due_at = :due_at"
    tx.run(sql, access, agent_id=heartbeat.agent_id, due_at=heartbeat.due_at, until=until)


def heartbeat_is_live(tx: Tx, access: Access, key: str) -> bool:
    """Return whether a heartbeat is queued, running or waiting in a lane."""
    sql = (
        "SELECT 1 FROM runs WHERE account_id = :account AND key = :key AND provenance_kind = 'heartbeat' "
        "AND state IN ('queued', 'running', 'waiting') LIMIT 1"
    )
    return tx.one(sql, access, key=key) is not None


def traces_since(tx: Tx, access: Access, after: int, upto: int, *, limit: int) -> list[Trace]:
    """Return the traces of entries between two numbers, oldest first."""
    sql = (
        f"SELECT {', '.join(Trace.__struct_fields__)} FROM entries WHERE account_id = :account AND seq > :after "
        "AND seq <= :upto ORDER BY seq LIMIT :limit"
    )
    return [Trace(*row) for row in tx.all(sql, access, after=after, upto=upto, limit=limit)]


def tasks_to_look_at(tx: Tx, access: Access, agent_id: str, *, soon: int, limit: int) -> list[Due]:
    """Return an agent's tasks that are due before a time, have stalled, or on which it owes a response."""
    of_agent = (
        "SELECT task_id FROM task_parties WHERE account_id = :account AND kind = 'agent' AND party_id = :agent_id "
        "AND assigned_at IS NOT NULL UNION SELECT task_id FROM response_requests WHERE account_id = :account "
        "AND agent_id = :agent_id AND answered_at IS NULL"
    )
    sql = (
        "SELECT t.id, t.due_date, CASE WHEN s.task_id IS NULL THEN 0 ELSE 1 END, "
        "CASE WHEN r.task_id IS NULL THEN 0 ELSE 1 END FROM tasks t "
        "LEFT JOIN stalls s ON s.account_id = :account AND s.task_id = t.id AND s.taken_up >= :times "
        "AND s.due_at IS NULL AND t.status = 'in_progress' "
        "LEFT JOIN response_requests r ON r.account_id = :account AND r.task_id = t.id AND r.agent_id = :agent_id "
        "AND r.answered_at IS NULL "
        f"WHERE t.account_id = :account AND t.id IN ({of_agent}) AND t.status NOT IN ('done', 'blocked', 'archived') "
        "AND (t.snoozed_until IS NULL OR t.snoozed_until <= :now) AND (r.task_id IS NOT NULL OR s.task_id IS NOT NULL "
        "OR (t.due_date <= :soon AND t.status <> 'review')) ORDER BY COALESCE(t.due_date, :last), t.id LIMIT :limit"
    )
    values = {"agent_id": agent_id, "soon": soon, "times": len(STALL_PAUSES_MINUTES), "now": tx.now, "limit": limit}
    return [Due(*row) for row in tx.all(sql, access, last=_NEVER, **values)]

"""The SQL of notices and response requests, and of ended runs that are not handled yet."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import RUN_TABLE, Run
from carrel.storage import Table, Tx
from carrel.work.model import NoticeType


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
_ENDS = Table("task_run_ends", RunEnd, key=("account_id", "run_id"))


def insert_notice(tx: Tx, access: Access, notice: Notice) -> None:
    """Write a notice."""
    tx.run(_NOTICES.insert, access, **_NOTICES.values(notice))


def notices_of(tx: Tx, access: Access, run_ids: Iterable[str]) -> dict[str, list[Notice]]:
    """Return the notices of several runs, by run, in order."""
    found: dict[str, list[Notice]] = {}
    for notice in _NOTICES.among(tx, access, "run_id", run_ids, "ORDER BY run_id, seq"):
        found.setdefault(notice.run_id, []).append(notice)
    return found


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
    sql = (
        f"{RUN_TABLE.select} WHERE account_id = :account AND task_id = :task_id "
        "AND state IN ('running', 'queued', 'waiting') ORDER BY key, seq DESC"
    )
    return RUN_TABLE.rows(tx.all(sql, access, task_id=task_id))


def newest_run_of_task(tx: Tx, access: Access, task_id: str) -> Run | None:
    """Return the newest run of a task."""
    sql = f"{RUN_TABLE.select} WHERE account_id = :account AND task_id = :task_id ORDER BY id DESC LIMIT 1"
    return RUN_TABLE.row(tx.one(sql, access, task_id=task_id))


def newest_runs_of_tasks(tx: Tx, access: Access, task_ids: Iterable[str], agent_id: str) -> dict[str, Run]:
    """Return the newest run of an agent on each of several tasks, ticks of auto runs excluded."""
    found = {}
    for task_id in task_ids:
        sql = (
            f"{RUN_TABLE.select} WHERE account_id = :account AND task_id = :task_id AND agent_id = :agent_id "
            "AND auto_run_id IS NULL ORDER BY id DESC LIMIT 1"
        )
        run = RUN_TABLE.row(tx.one(sql, access, task_id=task_id, agent_id=agent_id))
        if run is not None:
            found[task_id] = run
    return found


def closable_lanes_of_task(tx: Tx, access: Access, task_id: str) -> list[str]:
    """Return the keys of a task's lanes whose session is open or was closed by archiving, in order."""
    sql = (
        "SELECT DISTINCT key FROM sessions WHERE account_id = :account AND task_id = :task_id "
        "AND (closed_at IS NULL OR closed_reason = 'archived') ORDER BY key"
    )
    return [row[0] for row in tx.all(sql, access, task_id=task_id)]


def request_of(tx: Tx, access: Access, task_id: str, agent_id: str) -> ResponseRequest | None:
    """Return the newest request for a response from an agent on a task."""
    sql = (
        f"SELECT {_REQUESTS.columns} FROM response_requests WHERE account_id = :account AND task_id = :task_id "
        "AND agent_id = :agent_id"
    )
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
    sql = f"SELECT {_ENDS.columns} FROM task_run_ends WHERE due_at <= :now ORDER BY due_at LIMIT :limit"
    return _ENDS.rows(tx.all(sql, now=tx.now, limit=limit))


def next_run_end_due(tx: Tx) -> int | None:
    """Return when the end of a run is next due, across all accounts."""
    row = tx.one("SELECT due_at FROM task_run_ends ORDER BY due_at LIMIT 1")
    return row[0] if row else None


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
    sql = (
        "UPDATE response_requests SET delivered_at = :now WHERE account_id = :account AND task_id = :task_id "
        "AND agent_id = :agent_id AND run_id = :run_id AND delivered_at IS NULL"
    )
    tx.run(sql, access, task_id=task_id, agent_id=agent_id, run_id=run_id, now=tx.now)


def answer_request(tx: Tx, access: Access, task_id: str, agent_id: str, *, run_id: str | None = None) -> None:
    """Record that an agent answered its request, or that the given run will not bring the answer."""
    only, values = ("", {}) if run_id is None else (" AND run_id = :run_id", {"run_id": run_id})
    sql = (
        "UPDATE response_requests SET answered_at = :now WHERE account_id = :account AND task_id = :task_id "
        f"AND agent_id = :agent_id AND answered_at IS NULL{only}"
    )
    tx.run(sql, access, task_id=task_id, agent_id=agent_id, now=tx.now, **values)

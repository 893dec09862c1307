"""The SQL of notices: the news that each run brings its agent."""

from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

from carrel.kernel import Access
from carrel.notices.model import NoticeType
from carrel.runs import RUN_TABLE, Run
from carrel.storage import Table, Tx


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


_TABLE = Table("notices", Notice, key=("account_id", "run_id", "seq"))


def insert_notice(tx: Tx, access: Access, notice: Notice) -> None:
    tx.run(_TABLE.insert, access, **_TABLE.values(notice))


def notices_of(tx: Tx, access: Access, run_ids: Iterable[str]) -> dict[str, list[Notice]]:
    """Return the notices of several runs, by run, in order."""
    found = _TABLE.among(tx, access, "run_id", run_ids, "ORDER BY run_id, seq")
    return {run_id: list(notices) for run_id, notices in groupby(found, key=lambda notice: notice.run_id)}


def waiting_update(tx: Tx, access: Access, key: str, task_id: str) -> Run | None:
    """Return the newest thread_update of a task that is queued in a lane and not started."""
    sql = (
        f"{RUN_TABLE.select} WHERE account_id = :account AND key = :key AND state = 'queued' AND task_id = :task_id "
        "AND attempt = 0 AND session_id IS NULL AND id IN (SELECT run_id FROM notices "
        "WHERE account_id = :account AND task_id = :task_id AND type = 'thread_update') ORDER BY seq DESC LIMIT 1"
    )
    return RUN_TABLE.row(tx.one(sql, access, key=key, task_id=task_id))

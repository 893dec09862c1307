"""The SQL of loops: what each session has done lately because of agents."""

from carrel.kernel import Access
from carrel.loops.model import Series, Trace
from carrel.runs import Run
from carrel.storage import Table, Tx, json_column

_SERIES = json_column(Series)
_TRACES = Table("loop_traces", Trace, key=("account_id", "key"), codecs={"calls": _SERIES, "answers": _SERIES})
# A run caused only from outside since then, in a session that is not held.
_ASKED_SINCE = (
    "SELECT 1 FROM runs r WHERE r.account_id = :account AND r.key = :key AND r.id > t.run_id AND r.id <> :run_id "
    "AND r.parent_run_id IS NULL AND r.provenance_kind NOT IN ('auto', 'announce', 'reply_back')"
)


def read_trace(tx: Tx, access: Access, run: Run) -> Trace:
    """Return what the session of a run has done, up to that run, since somebody last asked it for something."""
    sql = (
        f"SELECT {_TRACES.columns_of('t')} FROM loop_traces t WHERE t.account_id = :account AND t.key = :key "
        f"AND (t.asked_at IS NOT NULL OR t.run_id = :run_id OR NOT EXISTS ({_ASKED_SINCE}))"
    )
    return _TRACES.row(tx.one(sql, access, key=run.key, run_id=run.id)) or Trace()


def keep_trace(tx: Tx, access: Access, key: str, trace: Trace) -> None:
    tx.run(_TRACES.upsert, access, key=key, **_TRACES.values(trace))


def drop_trace(tx: Tx, access: Access, key: str) -> None:
    tx.run("DELETE FROM loop_traces WHERE account_id = :account AND key = :key", access, key=key)

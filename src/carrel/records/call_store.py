"""The SQL of a run's tool calls: each is recorded with its effect, so that none is made twice.

A call of an MCP server has its effect outside our transaction: it is recorded when it begins, and finished later.
"""

from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.limits import REFUSALS_PER_LANE_MAX
from carrel.storage import Table, Tx


def outside_call(name: str) -> str:
    """Return the id of a call made outside its run's turn; ids within the turn begin with a step's number."""
    return f"outside:{name}"


class Call(Struct, frozen=True):
    """A recorded call; the result is empty while it waits for another run or an MCP server."""

    tool: str
    result: str
    waits_for: str | None
    waits_until: int | None

    @property
    def is_begun(self) -> bool:
        """Whether it was begun at an MCP server and has no result yet."""
        return not self.result and self.waits_for is None


_TABLE = Table("calls", Call, key=("account_id", "run_id", "call_id"), also=("effect", "called_at"))
_OF_RUN = "account_id = :account AND run_id = :run_id"


def call_of(tx: Tx, access: Access, run_id: str, call_id: str) -> Call | None:
    """Return a recorded call, or None."""
    sql = f"{_TABLE.select} WHERE {_OF_RUN} AND call_id = :call_id"
    return _TABLE.row(tx.one(sql, access, run_id=run_id, call_id=call_id))


def record_call(tx: Tx, access: Access, run_id: str, call_id: str, *, tool: str, effect: str, result: str,
                wait: tuple[str, int] | None = None) -> None:  # fmt: skip
    """Record a call with its result, or with the (run, moment) it waits for, in the transaction of its effect."""
    values = _TABLE.values(Call(tool, result, *(wait or (None, None))))
    tx.run(_TABLE.insert, access, run_id=run_id, call_id=call_id, effect=effect, called_at=tx.now, **values)


def finish_call(tx: Tx, access: Access, run_id: str, call_id: str, result: str) -> None:
    """Write the result of a waiting call."""
    changed = "result = :result, waits_for = NULL, waits_until = NULL"
    sql = f"UPDATE calls SET {changed} WHERE {_OF_RUN} AND call_id = :call_id"
    tx.run(sql, access, run_id=run_id, call_id=call_id, result=result)


def tools_called(tx: Tx, access: Access, run_id: str) -> list[str]:
    """Return the names of the tools a run has called, in order, each once."""
    rows = tx.all(f"SELECT tool FROM calls WHERE {_OF_RUN} ORDER BY called_at, call_id", access, run_id=run_id)
    return list(dict.fromkeys(row[0] for row in rows))


def has_written(tx: Tx, access: Access, run_id: str) -> bool:
    """Return whether a call of a run has changed something."""
    sql = f"SELECT 1 FROM calls WHERE {_OF_RUN} AND effect = 'write' LIMIT 1"
    return tx.one(sql, access, run_id=run_id) is not None


def wrote_from_outside(tx: Tx, access: Access, run_id: str, since: int) -> bool:
    """Return whether a call from outside a run's turn has changed something since a moment."""
    sql = (
        f"SELECT 1 FROM calls WHERE {_OF_RUN} AND effect = 'write' AND call_id LIKE :outside "
        "AND called_at >= :since LIMIT 1"
    )
    return tx.one(sql, access, run_id=run_id, outside=outside_call("%"), since=since) is not None


def is_open(tx: Tx, access: Access, run_id: str) -> bool:
    """Return whether a turn is between two steps, in a call of its own that has no result yet.

    Such a call waits for another run, or for the answer of an MCP server; neither is ever made twice. A call from
    outside comes in the middle of a step, and its caller does not keep waiting.
    """
    sql = f"SELECT 1 FROM calls WHERE {_OF_RUN} AND result = '' AND call_id NOT LIKE :outside LIMIT 1"
    return tx.one(sql, access, run_id=run_id, outside=outside_call("%")) is not None


class Refused(Struct, frozen=True, kw_only=True):
    """How often a rule refused a tool, and when last."""

    tool: str
    rule: str
    times: int
    last_at: int


_REFUSALS = Table("refusals", Refused, key=("account_id", "key"))
_LANE = "account_id = :account AND key = :key"


def count_refusal(tx: Tx, access: Access, key: str, tool: str, rule: str) -> None:
    """Count a refusal to a lane's agent, unless the lane does not exist or has too many kinds already."""
    refused = {"key": key, "tool": tool, "rule": rule, "now": tx.now}
    again = f"UPDATE refusals SET times = times + 1, last_at = :now WHERE {_LANE} AND tool = :tool AND rule = :rule"
    if tx.run(again, access, **refused) or tx.one(f"SELECT 1 FROM lanes WHERE {_LANE}", access, key=key) is None:
        return
    kinds = tx.value(f"SELECT count(*) FROM refusals WHERE {_LANE}", access, key=key) or 0
    if kinds < REFUSALS_PER_LANE_MAX:
        sql = (
            "INSERT INTO refusals (account_id, key, tool, rule, times, last_at) "
            "VALUES (:account, :key, :tool, :rule, 1, :now) ON CONFLICT (account_id, key, tool, rule) "
            "DO UPDATE SET times = refusals.times + 1, last_at = excluded.last_at"
        )
        tx.run(sql, access, **refused)


def refusals_of(tx: Tx, access: Access, key: str) -> list[Refused]:
    """Return what was refused to the agent of a lane, latest first."""
    return _REFUSALS.all(tx, access, "key = :key ORDER BY last_at DESC, tool, rule", key=key)

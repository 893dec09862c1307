"""The SQL of refusals: what the rules refused to a session's agent, counted by tool and rule."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.limits import REFUSALS_PER_LANE_MAX
from carrel.storage import Table, Tx


class Refused(Struct, frozen=True, kw_only=True):
    """How often a rule refused a tool, and when last."""

    tool: str
    rule: str
    times: int
    last_at: int


_TABLE = Table("refusals", Refused, key=("account_id", "key"))
_LANE = "account_id = :account AND key = :key"


def count_refusal(tx: Tx, access: Access, key: str, tool: str, rule: str) -> None:
    """Count a refusal to a lane's agent, unless the lane does not exist or has too many kinds already."""
    refused = {"key": key, "tool": tool, "rule": rule, "now": tx.now}
    again = f"UPDATE refusals SET times = times + 1, last_at = :now WHERE {_LANE} AND tool = :tool AND rule = :rule"
    if tx.run(again, access, **refused) or tx.one(f"SELECT 1 FROM lanes WHERE {_LANE}", access, key=key) is None:
        return
    kinds = tx.one(f"SELECT count(*) FROM refusals WHERE {_LANE}", access, key=key)
    if kinds is not None and kinds[0] < REFUSALS_PER_LANE_MAX:
        sql = (
            "INSERT INTO refusals (account_id, key, tool, rule, times, last_at) "
            "VALUES (:account, :key, :tool, :rule, 1, :now) ON CONFLICT (account_id, key, tool, rule) "
            "DO UPDATE SET times = refusals.times + 1, last_at = excluded.last_at"
        )
        tx.run(sql, access, **refused)


def refusals_of(tx: Tx, access: Access, key: str) -> list[Refused]:
    """Return what was refused to the agent of a lane, latest first."""
    sql = f"SELECT {_TABLE.columns} FROM refusals WHERE {_LANE} ORDER BY last_at DESC, tool, rule"
    return _TABLE.rows(tx.all(sql, access, key=key))

"""The SQL of usage: adding a step to its day, and sums over what the caller may see."""

import msgspec
from msgspec import Struct, structs

from carrel.kernel import MS_PER_DAY, Access
from carrel.kernel.limits import PRUNE_ROWS_MAX, USAGE_DAYS_KEPT
from carrel.storage import Tx
from carrel.usage.model import By, Tally
from carrel.visibility import seen_runs

_SUMS = Tally.__struct_fields__
_SUMMED = ", ".join(f"sum({name})" for name in _SUMS)
# The column of usage for each group; budgets have some of the groups as scopes.
COLUMNS: dict[str, str] = {"day": "day", "agent": "agent_id", "model": "model", "task": "task_id", "session": "key"}

_ADDED = ("day", "key", "task_id", "model", "agent_id", *_SUMS)
_ADD = (
    f"INSERT INTO usage_days (account_id, {', '.join(_ADDED)}) VALUES "
    f"(:account, {', '.join(f':{name}' for name in _ADDED)}) "
    "ON CONFLICT (account_id, day, key, task_id, model) DO UPDATE SET "
    f"{', '.join(f'{name} = usage_days.{name} + excluded.{name}' for name in _SUMS)}"
)
_ADD_AND_ASK = f"{_ADD} RETURNING (SELECT 1 FROM budgets WHERE account_id = :account LIMIT 1)"


class Spender(Struct, frozen=True, kw_only=True):
    """Whose usage it is; the task is empty for none."""

    key: str
    task_id: str
    model: str
    agent_id: str


class UsageFilter(Struct, frozen=True, kw_only=True):
    """Which usage to sum up: the days between two moments, and whose; None matches everything."""

    since: int
    until: int
    agent_id: str | None = None
    task_id: str | None = None
    key: str | None = None
    model: str | None = None


def add_usage(tx: Tx, access: Access, spender: Spender, added: Tally) -> None:
    """Add to the usage of a day, without waiting."""
    tx.pipeline(_ADD, access, **_row(tx, spender, added))


def add_usage_and_ask(tx: Tx, access: Access, spender: Spender, added: Tally) -> bool:
    """Add to the usage of a day; return whether the account has budgets, which saves the caller a statement."""
    return tx.value(_ADD_AND_ASK, access, **_row(tx, spender, added)) is not None


def _row(tx: Tx, spender: Spender, added: Tally) -> dict[str, object]:
    return {"day": tx.now // MS_PER_DAY} | structs.asdict(spender) | structs.asdict(added)


def usage_of(
    tx: Tx, access: Access, *, agent_id: str | None = None, task_id: str | None = None, key: str | None = None,
    since_day: int = 0,
) -> list[tuple[str, Tally]]:  # fmt: skip
    """Return (model, sums) since a day (0: everything kept) for an agent, a task, a session or the account."""
    wanted = {"agent_id": agent_id, "task_id": task_id, "key": key}
    given: dict[str, object] = {column: value for column, value in wanted.items() if value is not None}
    where = "".join(f" AND {column} = :{column}" for column in given)
    if since_day:
        where, given = f"{where} AND day >= :since_day", given | {"since_day": since_day}
    sql = f"SELECT model, {_SUMMED} FROM usage_days WHERE account_id = :account{where} GROUP BY model"
    return [(row[0], _tally(row[1:])) for row in tx.all(sql, access, **given)]


def usage_by(
    tx: Tx, access: Access, wanted: UsageFilter, by: tuple[By, ...], *, limit: int
) -> list[tuple[tuple[object, ...], str, Tally]]:  # fmt: skip
    """Return (group, model, sums) of the visible usage, most tokens first."""
    groups = [COLUMNS[word] for word in by]
    listed = ", ".join(dict.fromkeys([*groups, "model"]))
    where, values = _conditions(tx, access, wanted)
    sql = (
        f"SELECT {', '.join([*groups, 'model'])}, {_SUMMED} FROM usage_days WHERE {where} GROUP BY {listed} "
        f"ORDER BY sum(input_tokens + output_tokens) DESC, {listed} LIMIT :limit"
    )
    rows = tx.all(sql, access, **values, limit=limit)
    return [(tuple(row[: len(by)]), row[len(by)], _tally(row[len(by) + 1 :])) for row in rows]


def _tally(sums: tuple[object, ...]) -> Tally:
    # PostgreSQL sums integers into decimals.
    return msgspec.convert(dict(zip(_SUMS, map(str, sums), strict=True)), Tally, strict=False)


def _conditions(tx: Tx, access: Access, wanted: UsageFilter) -> tuple[str, dict[str, object]]:
    seen, values = seen_runs(tx, access, table="usage_days")
    rules = ["account_id = :account", "day >= :since", "day <= :until", seen]
    values = values | {"since": wanted.since // MS_PER_DAY, "until": wanted.until // MS_PER_DAY}
    for column in ("agent_id", "task_id", "key", "model"):
        if (value := getattr(wanted, column)) is not None:
            rules.append(f"{column} = :of_{column}")
            values[f"of_{column}"] = value
    return " AND ".join(rules), values


def prune_usage(tx: Tx, access: Access) -> int:
    """Delete a batch of usage past its retention; return how many rows."""
    rows = "SELECT day, key, task_id, model FROM usage_days WHERE account_id = :account AND day < :day LIMIT :limit"
    sql = f"DELETE FROM usage_days WHERE account_id = :account AND (day, key, task_id, model) IN ({rows})"
    return tx.run(sql, access, day=tx.now // MS_PER_DAY - USAGE_DAYS_KEPT, limit=PRUNE_ROWS_MAX)

"""The SQL of budgets: what owners have set, and what has become of each in its day."""

from msgspec import Struct, structs

from carrel.budgets.model import SCOPES, Amounts, BudgetName, BudgetPeriod, Period, Scope
from carrel.kernel import MS_PER_DAY, Access
from carrel.kernel.limits import PRUNE_ROWS_MAX, USAGE_DAYS_KEPT
from carrel.storage import Table, Tx


class _Row(Struct, frozen=True):
    """A budget that an owner has set."""

    scope: Scope
    period: Period
    subject: str
    tokens: int
    cost_usd: float
    runs: int


_BUDGETS = Table("budgets", _Row)
_PERIODS = Table("budget_periods", BudgetPeriod)
_NAMED = "account_id = :account AND scope = :scope AND period = :period AND subject = :subject"
_OF_RUN = " OR ".join(f"(scope = '{scope}' AND subject = :of_{scope})" for scope in SCOPES)
_DAY = "day IN (0, :day)"
Subjects = dict[Scope, str]


def budgets_of(tx: Tx, access: Access, subjects: Subjects | None = None) -> dict[BudgetName, Amounts]:
    """Return the budgets that owners have set: those of these subjects, or all."""
    only = f" AND ({_OF_RUN})" if subjects else ""
    sql = f"{_BUDGETS.select} WHERE account_id = :account{only} ORDER BY scope, period, subject"
    rows = _BUDGETS.rows(tx.all(sql, access, **_given(subjects)))
    return {
        BudgetName(row.scope, row.period, row.subject): Amounts(tokens=row.tokens, cost_usd=row.cost_usd, runs=row.runs)
        for row in rows
    }


def periods_of(tx: Tx, access: Access, subjects: Subjects | None = None) -> dict[BudgetName, BudgetPeriod]:
    """Return what has become of budgets today and in all: of those of these subjects, or of all."""
    only = f" AND ({_OF_RUN})" if subjects else ""
    sql = f"{_PERIODS.select} WHERE account_id = :account AND {_DAY}{only}"
    rows = _PERIODS.rows(tx.all(sql, access, day=tx.now // MS_PER_DAY, **_given(subjects)))
    return {BudgetName(row.scope, row.period, row.subject): row for row in rows}


def _given(subjects: Subjects | None) -> dict[str, object]:
    return {f"of_{scope}": subjects.get(scope) for scope in SCOPES} if subjects else {}


def count_budgets(tx: Tx, access: Access) -> int:
    """Return how many budgets owners have set."""
    row = tx.one("SELECT count(*) FROM budgets WHERE account_id = :account", access)
    return int(row[0]) if row else 0


def write_budget(tx: Tx, access: Access, name: BudgetName, amounts: Amounts) -> None:
    """Set a budget, whether there was one or not."""
    sql = (
        "INSERT INTO budgets (account_id, scope, period, subject, tokens, cost_usd, runs) "
        "VALUES (:account, :scope, :period, :subject, :tokens, :cost_usd, :runs) "
        "ON CONFLICT (account_id, scope, period, subject) "
        "DO UPDATE SET tokens = :tokens, cost_usd = :cost_usd, runs = :runs"
    )
    tx.run(sql, access, **structs.asdict(name), **structs.asdict(amounts))


def delete_budget(tx: Tx, access: Access, name: BudgetName) -> bool:
    """Delete a budget that an owner has set; False when there was none."""
    return tx.run(f"DELETE FROM budgets WHERE {_NAMED}", access, **structs.asdict(name)) > 0


def hold_period(tx: Tx, access: Access, name: BudgetName) -> None:
    """Lock what becomes of a budget in its day, so that those who count see each other."""
    _put_period(tx, access, name, "allowed = budget_periods.allowed", allowed=0)


def renew_period(tx: Tx, access: Access, name: BudgetName, *, allow: bool = False) -> None:
    """Let people be told of a budget again, and `allow` it once more; without, what was allowed before is void."""
    allowed = "budget_periods.allowed + 1" if allow else "0"
    _put_period(tx, access, name, f"allowed = {allowed}, warned_at = NULL, used_up_at = NULL", allowed=int(allow))


def _put_period(tx: Tx, access: Access, name: BudgetName, change: str, *, allowed: int) -> None:
    sql = f"{_INSERT} ON CONFLICT (account_id, day, scope, period, subject) DO UPDATE SET {change}"
    tx.run(sql, access, **structs.asdict(name), day=name.day(tx.now), allowed=allowed)


_INSERT = (
    "INSERT INTO budget_periods (account_id, scope, period, subject, day, allowed) "
    "VALUES (:account, :scope, :period, :subject, :day, :allowed)"
)


def mark_period(tx: Tx, access: Access, name: BudgetName, column: str) -> bool:
    """Note that people were told of a budget; False if it was noted before."""
    assert column in ("warned_at", "used_up_at")
    hold_period(tx, access, name)
    sql = f"UPDATE budget_periods SET {column} = :now WHERE {_NAMED} AND day = :day AND {column} IS NULL"
    return tx.run(sql, access, **structs.asdict(name), day=name.day(tx.now), now=tx.now) > 0


def prune_periods(tx: Tx, access: Access) -> int:
    """Delete a batch of days that are older than usage is kept; return how many rows."""
    rows = (
        "SELECT day, scope, period, subject FROM budget_periods "
        "WHERE account_id = :account AND day > 0 AND day < :day LIMIT :limit"
    )
    sql = f"DELETE FROM budget_periods WHERE account_id = :account AND (day, scope, period, subject) IN ({rows})"
    return tx.run(sql, access, day=tx.now // MS_PER_DAY - USAGE_DAYS_KEPT, limit=PRUNE_ROWS_MAX)

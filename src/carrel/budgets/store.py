"""The SQL of budgets: those that owners set, and the record of each period."""

from collections.abc import Sequence

from carrel.budgets.model import Budget, BudgetPeriod, Subjects
from carrel.kernel import MS_PER_DAY, Access
from carrel.kernel.limits import PRUNE_ROWS_MAX, USAGE_DAYS_KEPT
from carrel.storage import Table, Tx, in_list

_BUDGETS = Table("budgets", Budget, key=("account_id", "name"), without=("source",))
_PERIODS = Table("budget_periods", BudgetPeriod)
_PERIOD = "account_id = :account AND since = :since AND name = :name AND subject = :subject"
# The days on which current periods began: today, the first of the month, and 0 for budgets that are forever.
_NOW = "since IN (:day, :month, 0)"


def every_owners_budget(tx: Tx, access: Access) -> list[Budget]:
    return _BUDGETS.rows(tx.all(f"{_BUDGETS.select} WHERE account_id = :account ORDER BY name", access))


def budgets_on(tx: Tx, access: Access, subjects: Subjects, names: Sequence[str]) -> list[Budget]:
    """Return the owners' budgets for these subjects, and those with one of these names."""
    kinds = [f"(scope = '{scope}' AND subject IN ('', :of_{scope}))" for scope in subjects]
    listed, named = in_list("name", names)
    kinds += [f"name IN ({listed})"] if named else []
    sql = f"{_BUDGETS.select} WHERE account_id = :account AND ({' OR '.join(kinds)}) ORDER BY name"
    given: dict[str, object] = {f"of_{scope}": subject for scope, subject in subjects.items()}
    return _BUDGETS.rows(tx.all(sql, access, **given, **named))


def budget_by_name(tx: Tx, access: Access, name: str) -> Budget | None:
    return _BUDGETS.row(tx.one(f"{_BUDGETS.select} WHERE account_id = :account AND name = :name", access, name=name))


def periods_of(tx: Tx, access: Access, subjects: Sequence[str] = ()) -> dict[tuple[str, str, int], BudgetPeriod]:
    """Return the records of the current periods: of these subjects, or of all."""
    listed, named = in_list("of", subjects)
    only = f" AND subject IN ({listed})" if named else ""
    month = Budget(name="", scope="account", per="month").since(tx.now)
    sql = f"{_PERIODS.select} WHERE account_id = :account AND {_NOW}{only}"
    rows = _PERIODS.rows(tx.all(sql, access, day=tx.now // MS_PER_DAY, month=month, **named))
    return {(row.name, row.subject, row.since): row for row in rows}


def count_budgets(tx: Tx, access: Access) -> int:
    return tx.value("SELECT count(*) FROM budgets WHERE account_id = :account", access) or 0


def write_budget(tx: Tx, access: Access, budget: Budget) -> None:
    tx.run(_BUDGETS.upsert, access, **{field: getattr(budget, field) for field in _BUDGETS.fields})


def delete_budget(tx: Tx, access: Access, name: str) -> bool:
    return tx.run("DELETE FROM budgets WHERE account_id = :account AND name = :name", access, name=name) > 0


def hold_period(tx: Tx, access: Access, period: BudgetPeriod) -> None:
    """Lock the record of a period, so that concurrent counts see each other."""
    sql = f"{_INSERT} ON CONFLICT (account_id, since, name, subject) DO UPDATE SET allowed = budget_periods.allowed"
    tx.run(sql, access, **_key(period), allowed=0)


def allow_period(tx: Tx, access: Access, period: BudgetPeriod) -> None:
    """Allow a budget once more in its period; people are notified again."""
    sql = (
        f"{_INSERT} ON CONFLICT (account_id, since, name, subject) "
        "DO UPDATE SET allowed = budget_periods.allowed + 1, warned_at = NULL, used_up_at = NULL"
    )
    tx.run(sql, access, **_key(period), allowed=1)


def subjects_told(tx: Tx, access: Access, name: str) -> list[str]:
    """Return the subjects for which a budget was allowed or people notified; all waiting ones are among them."""
    sql = "SELECT DISTINCT subject FROM budget_periods WHERE account_id = :account AND name = :name"
    return [subject for (subject,) in tx.all(sql, access, name=name)]


def renew_periods(tx: Tx, access: Access, name: str) -> None:
    """Let people be notified of a budget again, and clear what was allowed before."""
    sql = (
        "UPDATE budget_periods SET allowed = 0, warned_at = NULL, used_up_at = NULL "
        "WHERE account_id = :account AND name = :name"
    )
    tx.run(sql, access, name=name)


_INSERT = (
    "INSERT INTO budget_periods (account_id, name, subject, since, allowed) "
    "VALUES (:account, :name, :subject, :since, :allowed)"
)


def _key(period: BudgetPeriod) -> dict[str, object]:
    return {"name": period.name, "subject": period.subject, "since": period.since}


def mark_period(tx: Tx, access: Access, period: BudgetPeriod, column: str) -> bool:
    """Record that people were notified of a budget; False if that was recorded before."""
    assert column in ("warned_at", "used_up_at")
    hold_period(tx, access, period)
    sql = f"UPDATE budget_periods SET {column} = :now WHERE {_PERIOD} AND {column} IS NULL"
    return tx.run(sql, access, **_key(period), now=tx.now) > 0


def prune_periods(tx: Tx, access: Access) -> int:
    """Delete a batch of periods that are past the retention of usage; return how many rows."""
    rows = (
        "SELECT since, name, subject FROM budget_periods "
        "WHERE account_id = :account AND since > 0 AND since < :day LIMIT :limit"
    )
    sql = f"DELETE FROM budget_periods WHERE account_id = :account AND (since, name, subject) IN ({rows})"
    return tx.run(sql, access, day=tx.now // MS_PER_DAY - USAGE_DAYS_KEPT, limit=PRUNE_ROWS_MAX)

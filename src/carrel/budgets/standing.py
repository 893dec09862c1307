"""How budgets stand: what they allow, and how much of it is used."""

from carrel.budgets.model import SCOPES, Amounts, Budget, BudgetName, BudgetPeriod, BudgetRules, Period, Scope
from carrel.budgets.store import Subjects, budgets_of, periods_of
from carrel.kernel import Access
from carrel.runs import Claim
from carrel.storage import Tx
from carrel.usage import usage_of

_PERIODS: tuple[Period, ...] = ("day", "total")
_COLUMNS: dict[Scope, str] = {"agent": "agent_id", "task": "task_id", "session": "key"}


def subjects_of(run: Claim) -> Subjects:
    """Return what budgets may limit a run."""
    subjects: Subjects = {"account": "", "agent": run.agent_id, "session": run.key}
    task_id = run.task_id or run.session_key.task_id
    return subjects | {"task": task_id} if task_id else subjects


def budgets_on(tx: Tx, run: Claim, rules: BudgetRules) -> list[Budget]:
    """Return the budgets that limit a run, as they stand, in the order in which they are locked."""
    subjects = subjects_of(run)
    known = budgets_of(tx, run.access, subjects)
    names = [BudgetName(scope, period, subjects[scope]) for scope in SCOPES if scope in subjects for period in _PERIODS]
    limited = [name for name in names if amounts_of(name, known, rules).any]
    periods = periods_of(tx, run.access, subjects) if limited else {}
    return [standing(tx, run.access, name, rules, known, periods) for name in limited]


def amounts_of(name: BudgetName, known: dict[BudgetName, Amounts], rules: BudgetRules) -> Amounts:
    """Return what an owner has set, else what the settings say."""
    return known.get(name) or rules.amounts(name.scope, name.period)


def standing(
    tx: Tx, access: Access, name: BudgetName, rules: BudgetRules, known: dict[BudgetName, Amounts],
    periods: dict[BudgetName, BudgetPeriod],
) -> Budget:  # fmt: skip
    """Return one budget with what is used of it."""
    column, of = _COLUMNS.get(name.scope), periods.get(name)
    subject = {} if column is None else {column: name.subject}
    used = usage_of(tx, access, day=name.day(tx.now) or None, **subject)
    return Budget(
        name=name,
        amounts=amounts_of(name, known, rules),
        source="owner" if name in known else "settings",
        spent=rules.spent(used),
        allowed=of.allowed if of else 0,
        warned_at=of.warned_at if of else None,
        used_up_at=of.used_up_at if of else None,
    )

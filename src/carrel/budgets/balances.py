"""Balances: which budgets limit a run, and how much of each is used."""

from collections.abc import Mapping

from carrel.budgets.model import Balance, Budget, BudgetPeriod, BudgetRules, Scope, Subjects
from carrel.budgets.store import budgets_on, periods_of
from carrel.kernel import Access
from carrel.runs import Claim
from carrel.storage import Tx
from carrel.usage import COLUMNS, usage_of

# By name, subject and first day.
Periods = Mapping[tuple[str, str, int], BudgetPeriod]


def subjects_of(run: Claim) -> Subjects:
    """Return the subjects by which budgets may limit a run."""
    subjects: dict[Scope, str] = {"account": "", "agent": run.agent_id, "session": run.key}
    task_id = run.task_id or run.session_key.task_id
    return subjects | {"task": task_id} if task_id else subjects


def balances_on(tx: Tx, run: Claim, rules: BudgetRules) -> list[Balance]:
    """Return the balances that limit a run, in locking order."""
    subjects = subjects_of(run)
    known = rules.merged(budgets_on(tx, run.access, subjects, list(rules.budgets)))
    limiting = [budget for budget in known if budget.limits_any(subjects)]
    periods = periods_of(tx, run.access, list(subjects.values())) if limiting else {}
    return [balance_of(tx, run.access, budget, subjects[budget.scope], rules, periods) for budget in limiting]


def balance_of(tx: Tx, access: Access, budget: Budget, subject: str, rules: BudgetRules, periods: Periods) -> Balance:
    column, since = COLUMNS.get(budget.scope), budget.since(tx.now)
    used = usage_of(tx, access, since_day=since, **({} if column is None else {column: subject}))
    period = periods.get((budget.name, subject, since)) or BudgetPeriod(budget.name, subject, since)
    return Balance(budget=budget, period=period, spent=rules.spent(used))

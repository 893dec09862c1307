"""Budgets in sentences."""

from carrel.agents import agent_by_id
from carrel.budgets.model import Amounts, Budget, BudgetName, Spent
from carrel.kernel import Access, SessionKey, clip
from carrel.kernel.limits import NOTIFICATION_SUBJECT_CHARS_MAX
from carrel.sessions import task_titles
from carrel.storage import Tx

_RAISE = "it goes on when an owner raises it, or allows it once more"


def subject_of(tx: Tx, access: Access, name: BudgetName) -> str:
    """Return how people know what a budget is of: `agent Writer`."""
    if name.scope == "agent":
        agent = agent_by_id(tx, access, name.subject)
        return f"agent {agent.name if agent is not None else name.subject}"
    if name.scope == "task":
        title = task_titles(tx, access, [name.subject]).get(name.subject, name.subject)
        return f"task {clip(title, NOTIFICATION_SUBJECT_CHARS_MAX)}"
    return f"session {SessionKey.stored(name.subject)}" if name.scope == "session" else "this account"


def title_of(tx: Tx, access: Access, name: BudgetName) -> str:
    """Return a budget as the subject of a sentence."""
    return f"The budget of {subject_of(tx, access, name)}{' for today' if name.period == 'day' else ''}"


def used_up_text(tx: Tx, access: Access, budget: Budget) -> str:
    """Return why work waits, and until when."""
    measure = max(budget.shares, key=lambda name: budget.shares[name])
    then = "it begins anew at 00:00 UTC" if budget.name.period == "day" else _RAISE
    return f"{title_of(tx, access, budget.name)}, {_amount(budget.limits, measure)}, is used up; {then}."


def warning_text(tx: Tx, access: Access, budget: Budget) -> str:
    """Return how much of a budget is used."""
    measure = max(budget.shares, key=lambda name: budget.shares[name])
    used, limit = _amount(budget.spent, measure), _amount(budget.limits, measure)
    return f"{title_of(tx, access, budget.name)} is used to {budget.share:.0%}: {used} of {limit}."


def _amount(amounts: Amounts | Spent, measure: str) -> str:
    if measure == "cost_usd":
        return f"${amounts.cost_usd:,.2f}"
    count = amounts.tokens if measure == "tokens" else amounts.runs
    word = measure if count != 1 else measure.removesuffix("s")
    return f"{count:,} {word}"

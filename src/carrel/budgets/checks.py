"""Checking budgets: before a run goes on, and after a step was counted."""

from carrel.budgets.model import WARNED_FROM, Budget, BudgetName, BudgetRules
from carrel.budgets.standing import budgets_on
from carrel.budgets.store import hold_period, mark_period
from carrel.budgets.wording import title_of, used_up_text, warning_text
from carrel.journal import About, append_event, json_text
from carrel.kernel import Access
from carrel.monitoring import notifies
from carrel.notifications import OWNERS, NewNotification, notify
from carrel.runs import Claim, Failed
from carrel.storage import Tx

# The code of a run that waits for a budget, and the reason of one that could not wait.
_USED_UP = "budget_used_up"


class UsedUp(Exception):
    """A budget of the run is used up, so that no step may be sent; whatever the transaction has written is void."""


def check_budgets(tx: Tx, run: Claim, rules: BudgetRules, *, begins: bool) -> None:
    """Raise UsedUp if the run may not go on. `begins`: it was counted just now, in this transaction."""
    budgets = budgets_on(tx, run, rules)
    if begins and any(budget.amounts.runs for budget in budgets):
        # Runs that begin at the same moment count each other, one after the other.
        for budget in budgets:
            hold_period(tx, run.access, budget.name)
        budgets = budgets_on(tx, run, rules)
    if any(budget.stops(begins=begins) for budget in budgets):
        raise UsedUp
    for budget in budgets:
        _notify(tx, run, budget)


def note_spending(tx: Tx, run: Claim, rules: BudgetRules) -> None:
    """Notify the owners of budgets that are nearly or wholly used up, once a step was counted."""
    for budget in budgets_on(tx, run, rules):
        _notify(tx, run, budget)


def hold(tx: Tx, run: Claim, rules: BudgetRules, *, begins: bool) -> Failed:
    """Return why and until when the run has to wait, in the transaction that lets it; at once if it was raised."""
    for budget in budgets_on(tx, run, rules):
        # A run that would have begun is not counted now.
        if budget.stops(begins=False) or (begins and budget.shares.get("runs", 0) >= 1):
            hold_period(tx, run.access, budget.name)
            _notify(tx, run, budget)
            text = used_up_text(tx, run.access, budget)
            return _held(budget.name.text, text, budget.name.look_at(tx.now))
    return _held("", "The budget was raised.", tx.now)


def _held(budget: str, text: str, until: int) -> Failed:
    return Failed(code=_USED_UP, message=text, reason=_USED_UP, budget=budget, held_until=until)


def _notify(tx: Tx, run: Claim, budget: Budget) -> None:
    if budget.share >= 1 and budget.used_up_at is None:
        _tell_owners(tx, run, budget, "used_up_at", used_up_text(tx, run.access, budget))
    elif WARNED_FROM <= budget.share < 1 and budget.warned_at is None:
        _tell_owners(tx, run, budget, "warned_at", warning_text(tx, run.access, budget))


def _tell_owners(tx: Tx, run: Claim, budget: Budget, column: str, text: str) -> None:
    if not mark_period(tx, run.access, budget.name, column):
        return
    publish_budget(tx, run.access, budget.name)
    if notifies(tx, run.access, "budget"):
        happened = "is used up" if column == "used_up_at" else f"is used to {budget.share:.0%}"
        title = f"{title_of(tx, run.access, budget.name)} {happened}"
        notify(tx, run.access, [OWNERS], NewNotification(type="budget", title=title, body=text, run_id=run.id))


def publish_budget(tx: Tx, access: Access, name: BudgetName) -> None:
    """Tell the owners' pages that a budget stands differently."""
    agent_id = name.subject if name.scope == "agent" else None
    body = {"scope": name.scope, "period": name.period, "subject": name.subject or None}
    append_event(tx, access, "budget.changed", About(agent_id=agent_id), json_text(body), recipient=OWNERS)

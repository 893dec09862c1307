"""Checking budgets: before a run continues, and after a step was counted."""

from carrel.budgets.balances import balances_on
from carrel.budgets.model import WARNED_FROM, Balance, Budget, BudgetRules
from carrel.budgets.notices import title_of, used_up_text, warning_text
from carrel.budgets.store import hold_period, mark_period
from carrel.journal import About, append_event, json_text
from carrel.kernel import Access
from carrel.monitoring import notifies
from carrel.notifications import OWNERS, NewNotification, notify
from carrel.runs import Claim, Failed
from carrel.storage import Tx

# The error code of a run that waits for a budget, and the reason of one that could not wait.
_USED_UP = "budget_used_up"


class UsedUp(Exception):
    """A budget of the run is used up, so no step may be sent; the transaction is rolled back."""


def check_budgets(tx: Tx, run: Claim, rules: BudgetRules, *, begins: bool) -> None:
    """Raise UsedUp if the run may not continue. `begins`: it was counted just now, in this transaction."""
    balances = balances_on(tx, run, rules)
    if begins and any(balance.budget.runs for balance in balances):
        # Runs that begin at the same moment count each other, one after the other.
        for balance in balances:
            hold_period(tx, run.access, balance.period)
        balances = balances_on(tx, run, rules)
    if any(balance.stops(begins=begins) for balance in balances):
        raise UsedUp
    for balance in balances:
        _notify(tx, run, balance)


def note_spending(tx: Tx, run: Claim, rules: BudgetRules) -> None:
    """After a step was counted, notify the owners of budgets that are nearly or wholly used up."""
    for balance in balances_on(tx, run, rules):
        _notify(tx, run, balance)


def hold(tx: Tx, run: Claim, rules: BudgetRules, *, begins: bool) -> Failed:
    """Return why and until when the run has to wait, in the transaction that holds it; at once if it was raised."""
    for balance in balances_on(tx, run, rules):
        # A run that did not begin must not be counted.
        if balance.stops(begins=begins, is_counted=False):
            hold_period(tx, run.access, balance.period)
            _notify(tx, run, balance)
            return _held(balance.text, used_up_text(tx, run.access, balance), balance.budget.look_at(tx.now))
    return _held("", "The budget was raised.", tx.now)


def _held(budget: str, text: str, until: int) -> Failed:
    return Failed(code=_USED_UP, message=text, reason=_USED_UP, held_for=budget, held_until=until)


def _notify(tx: Tx, run: Claim, balance: Balance) -> None:
    if balance.share >= 1 and balance.period.used_up_at is None:
        _tell_owners(tx, run, balance, "used_up_at", used_up_text(tx, run.access, balance))
    elif WARNED_FROM <= balance.share < 1 and balance.period.warned_at is None:
        _tell_owners(tx, run, balance, "warned_at", warning_text(tx, run.access, balance))


def _tell_owners(tx: Tx, run: Claim, balance: Balance, column: str, text: str) -> None:
    if not mark_period(tx, run.access, balance.period, column):
        return
    publish_budget(tx, run.access, balance.budget, balance.period.subject)
    if notifies(tx, run.access, "budget"):
        happened = "is used up" if column == "used_up_at" else f"is {balance.share:.0%} used"
        title = f"{title_of(tx, run.access, balance)} {happened}"
        notify(tx, run.access, [OWNERS], NewNotification(type="budget", title=title, body=text, run_id=run.id))


def publish_budget(tx: Tx, access: Access, budget: Budget, subject: str) -> None:
    """Tell the owners' pages that a balance has changed."""
    agent_id = subject if subject and budget.scope == "agent" else None
    body = {"name": budget.name, "scope": budget.scope_text, "subject": subject or None}
    append_event(tx, access, "budget.changed", About(agent_id=agent_id), json_text(body), recipient=OWNERS)

"""Sentences for people about budgets."""

from datetime import UTC, datetime

from carrel.agents import agent_by_id
from carrel.budgets.model import Amounts, Balance, Budget, Spent
from carrel.kernel import MS_PER_SECOND, Access, SessionKey, clip
from carrel.kernel.limits import NOTIFICATION_SUBJECT_CHARS_MAX
from carrel.sessions import task_titles
from carrel.storage import Tx

_RAISE = "work goes on when an owner raises it, or allows it once more"
_PER = {"day": "a day", "month": "a month", "forever": "in all"}


def subject_of(tx: Tx, access: Access, budget: Budget, subject: str | None) -> str:
    """Return how people know the subject of a budget: `agent Writer`; None is each of its kind."""
    if budget.scope == "account":
        return "this account"
    if subject is None:
        return f"each {budget.scope}"
    if budget.scope == "agent":
        agent = agent_by_id(tx, access, subject)
        return f"agent {agent.name if agent is not None else subject}"
    if budget.scope == "task":
        title = task_titles(tx, access, [subject]).get(subject, subject)
        return f"task {clip(title, NOTIFICATION_SUBJECT_CHARS_MAX)}"
    return f"session {SessionKey.stored(subject)}"


def title_of(tx: Tx, access: Access, balance: Balance) -> str:
    """Return a budget as the subject of a sentence."""
    return f"Budget {balance.budget.name} of {subject_of(tx, access, balance.budget, balance.period.subject)}"


def used_up_text(tx: Tx, access: Access, balance: Balance) -> str:
    """Return why work waits, and until when; or that it does not wait."""
    measure = max(balance.shares, key=lambda name: balance.shares[name])
    amount = f"{_amount(balance.limits, measure)} {_PER[balance.budget.per]}"
    return f"{title_of(tx, access, balance)}, {amount}, is used up; {_what_follows(balance.budget, tx.now)}."


def _what_follows(budget: Budget, now: int) -> str:
    if budget.action == "warn":
        return "work goes on, because this budget only warns"
    renews_at = budget.renews_at(now)
    if renews_at is None:
        return _RAISE
    day = datetime.fromtimestamp(renews_at / MS_PER_SECOND, UTC)
    return f"it renews {f'on {day:%B} {day.day} ' if budget.per == 'month' else ''}at 00:00 UTC"


def warning_text(tx: Tx, access: Access, balance: Balance) -> str:
    measure = max(balance.shares, key=lambda name: balance.shares[name])
    used, limit = _amount(balance.spent, measure), _amount(balance.limits, measure)
    return f"{title_of(tx, access, balance)} is {balance.share:.0%} used: {used} of {limit} {_PER[balance.budget.per]}."


def _amount(amounts: Amounts | Spent, measure: str) -> str:
    if measure == "usd":
        return f"${amounts.usd:,.2f}"
    count = amounts.tokens if measure == "tokens" else amounts.runs
    word = measure if count != 1 else measure.removesuffix("s")
    return f"{count:,} {word}"

"""What owners do with budgets: list, set, remove and allow them; runs that wait for one then check again."""

from carrel.agents import every_agent
from carrel.budgets import store
from carrel.budgets.balances import Periods, balance_of
from carrel.budgets.checks import publish_budget
from carrel.budgets.model import (
    Amounts,
    AmountsShape,
    Balance,
    Budget,
    BudgetPeriod,
    BudgetRules,
    BudgetShape,
    held_text,
)
from carrel.budgets.notices import subject_of
from carrel.kernel import Access, Code, Refusal, invalid, iso, not_found
from carrel.kernel.limits import BUDGETS_MAX
from carrel.monitoring import count_held
from carrel.runs import release_held
from carrel.storage import Tx


def every_budget(tx: Tx, access: Access, rules: BudgetRules) -> list[BudgetShape]:
    """Return the balances of the account's budgets, the most used first.

    A budget of each agent has one per agent; a budget of each task or session, one for those people were notified of.
    """
    periods, held = store.periods_of(tx, access), count_held(tx, access)
    rows: list[tuple[float, BudgetShape]] = []
    for budget in rules.merged(store.every_owners_budget(tx, access)):
        for subject in _subjects(tx, access, budget, periods):
            balance = _balance(tx, access, budget, subject, rules, periods)
            rows.append((balance.share, _shape(tx, access, balance, subject, held)))
    return [shape for _, shape in sorted(rows, key=lambda row: -row[0])[:BUDGETS_MAX]]


def find_budget(tx: Tx, access: Access, name: str, rules: BudgetRules, subject: str | None = None) -> BudgetShape:
    """Return the balance of a budget: for its own subject, the account, or the given one."""
    budget = _known(tx, access, name, rules)
    of = budget.subject or ("" if budget.scope == "account" else subject)
    balance = _balance(tx, access, budget, of, rules, store.periods_of(tx, access))
    return _shape(tx, access, balance, of, count_held(tx, access))


def set_budget(tx: Tx, access: Access, budget: Budget) -> None:
    """Set a budget, replacing the one with that name."""
    if not budget.any:
        raise invalid("tokens", "A budget limits tokens, usd or runs: give at least one of them.")
    if store.budget_by_name(tx, access, budget.name) is None and store.count_budgets(tx, access) >= BUDGETS_MAX:
        raise Refusal(Code.CONFLICT, f"An account has at most {BUDGETS_MAX} budgets; remove one first.")
    store.write_budget(tx, access, budget)
    _renew(tx, access, budget)


def remove_budget(tx: Tx, access: Access, name: str) -> None:
    """Remove an owner's budget; one of the settings with that name applies again."""
    budget = store.budget_by_name(tx, access, name)
    if budget is None or not store.delete_budget(tx, access, name):
        raise not_found("budget")
    _renew(tx, access, budget)


def allow_once(tx: Tx, access: Access, name: str, rules: BudgetRules, subject: str | None = None) -> BudgetShape:
    """Allow the amount once more until the budget renews. Budgets of each agent, task or session need a subject."""
    budget = _known(tx, access, name, rules)
    is_one = bool(budget.subject) or budget.scope == "account"
    if is_one and subject not in (None, budget.subject):
        raise invalid("subject", f"This budget applies to {budget.scope_text}: leave subject out.")
    if not is_one and subject is None:
        raise invalid("subject", f"This budget applies to each {budget.scope}: subject must name the {budget.scope}.")
    of = budget.subject or subject or ""
    store.allow_period(tx, access, BudgetPeriod(budget.name, of, budget.since(tx.now)))
    release_held(tx, access, held_text(name, of))
    publish_budget(tx, access, budget, of)
    return find_budget(tx, access, name, rules, of)


def _known(tx: Tx, access: Access, name: str, rules: BudgetRules) -> Budget:
    configured = (budget for budget in rules.merged([]) if budget.name == name)
    found = store.budget_by_name(tx, access, name) or next(configured, None)
    if found is None:
        raise not_found("budget")
    return found


def _renew(tx: Tx, access: Access, budget: Budget) -> None:
    """Clear what was allowed in addition, and let runs that wait for the budget check again."""
    store.renew_periods(tx, access, budget.name)
    for subject in store.subjects_told(tx, access, budget.name):
        release_held(tx, access, held_text(budget.name, subject))
    publish_budget(tx, access, budget, budget.subject)


def _subjects(tx: Tx, access: Access, budget: Budget, periods: Periods) -> list[str | None]:
    """Return the subjects whose balances are shown; None stands for each of its kind."""
    if budget.subject or budget.scope == "account":
        return [budget.subject]
    if budget.scope == "agent":
        return [agent.id for agent in every_agent(tx, access)]
    since = budget.since(tx.now)
    told = [period.subject for period in periods.values() if (period.name, period.since) == (budget.name, since)]
    return [*told] or [None]


def _balance(
    tx: Tx, access: Access, budget: Budget, subject: str | None, rules: BudgetRules, periods: Periods
) -> Balance:  # fmt: skip
    if subject is None:
        return Balance(budget=budget, period=BudgetPeriod(budget.name, "", budget.since(tx.now)))
    return balance_of(tx, access, budget, subject, rules, periods)


def _shape(tx: Tx, access: Access, balance: Balance, subject: str | None, held: dict[str, int]) -> BudgetShape:
    budget = balance.budget
    return BudgetShape.of(
        budget,
        scope=budget.scope_text,
        subject=subject or None,
        title=subject_of(tx, access, budget, subject),
        amounts=_amounts_shape(budget),
        limits=_amounts_shape(balance.limits),
        spent=balance.spent,
        share=round(balance.share, 4),
        state=balance.state,
        allowed=balance.period.allowed,
        renews_at=iso(budget.renews_at(tx.now)),
        waiting=0 if subject is None else held.get(balance.text, 0),
    )


def _amounts_shape(amounts: Amounts) -> AmountsShape:
    return AmountsShape(tokens=amounts.tokens or None, usd=amounts.usd or None, runs=amounts.runs or None)

"""What owners do with budgets: see how they stand, set, remove and allow them; what waits for one then looks again."""

from carrel.agents import every_agent
from carrel.budgets.checks import publish_budget
from carrel.budgets.model import Amounts, AmountsShape, Budget, BudgetName, BudgetRules, BudgetShape
from carrel.budgets.standing import amounts_of, standing
from carrel.budgets.store import budgets_of, count_budgets, delete_budget, periods_of, renew_period, write_budget
from carrel.budgets.wording import subject_of
from carrel.kernel import Access, Code, Refusal, invalid, iso, not_found
from carrel.kernel.limits import BUDGETS_MAX
from carrel.monitoring import count_held
from carrel.runs import release_held
from carrel.storage import Tx


def every_budget(tx: Tx, access: Access, rules: BudgetRules) -> list[BudgetShape]:
    """Return the budgets of the account as they stand, the fullest first.

    They are those that owners have set, those that the settings give the account and each agent, and of tasks and
    sessions those that people were told of.
    """
    known, periods = budgets_of(tx, access), periods_of(tx, access)
    by_default = [BudgetName("account", "day", "")]
    if rules.amounts("agent", "day").any:
        by_default += [BudgetName("agent", "day", agent.id) for agent in every_agent(tx, access)]
    names = [name for name in dict.fromkeys((*known, *by_default, *periods)) if amounts_of(name, known, rules).any]
    held = count_held(tx, access)
    budgets = [standing(tx, access, name, rules, known, periods) for name in names[:BUDGETS_MAX]]
    budgets.sort(key=lambda budget: (-budget.share, budget.name))
    return [_shape(tx, access, budget, held) for budget in budgets]


def find_budget(tx: Tx, access: Access, name: BudgetName, rules: BudgetRules) -> BudgetShape:
    """Return one budget as it stands."""
    known, periods = budgets_of(tx, access), periods_of(tx, access)
    if not amounts_of(name, known, rules).any:
        raise not_found("budget")
    return _shape(tx, access, standing(tx, access, name, rules, known, periods), count_held(tx, access))


def set_budget(tx: Tx, access: Access, name: BudgetName, amounts: Amounts) -> None:
    """Set a budget in the place of the one before."""
    if not amounts.any:
        raise invalid("tokens", "A budget limits tokens, costUsd or runs: give at least one of them.")
    if name.period == "total" and name.scope in ("account", "agent"):
        raise invalid("period", f"A budget of an {name.scope} is for a day: period must be day.")
    if name not in budgets_of(tx, access) and count_budgets(tx, access) >= BUDGETS_MAX:
        raise Refusal(Code.CONFLICT, f"An account has at most {BUDGETS_MAX} budgets; remove one first.")
    renew_period(tx, access, name)
    write_budget(tx, access, name, amounts)
    _changed(tx, access, name)


def remove_budget(tx: Tx, access: Access, name: BudgetName) -> None:
    """Remove a budget that an owner has set; what the settings say holds again."""
    if not delete_budget(tx, access, name):
        raise not_found("budget")
    renew_period(tx, access, name)
    _changed(tx, access, name)


def allow_once(tx: Tx, access: Access, name: BudgetName, rules: BudgetRules) -> None:
    """Allow as much again as the budget is, until it begins anew."""
    if not amounts_of(name, budgets_of(tx, access), rules).any:
        raise not_found("budget")
    renew_period(tx, access, name, allow=True)
    _changed(tx, access, name)


def _changed(tx: Tx, access: Access, name: BudgetName) -> None:
    release_held(tx, access, name.text)
    publish_budget(tx, access, name)


def _shape(tx: Tx, access: Access, budget: Budget, held: dict[str, int]) -> BudgetShape:
    name = budget.name
    return BudgetShape.of(
        budget,
        scope=name.scope,
        period=name.period,
        subject=name.subject or None,
        title=subject_of(tx, access, name),
        amounts=_amounts_shape(budget.amounts),
        limits=_amounts_shape(budget.limits),
        share=round(budget.share, 4),
        renews_at=iso(name.renews_at(tx.now)),
        waiting=held.get(name.text, 0),
    )


def _amounts_shape(amounts: Amounts) -> AmountsShape:
    return AmountsShape(tokens=amounts.tokens or None, cost_usd=amounts.cost_usd or None, runs=amounts.runs or None)

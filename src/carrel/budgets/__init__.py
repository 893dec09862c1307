"""Budgets: how much agents may use in a day, a month or forever, and what happens when a budget is used up."""

from carrel.budgets.administration import allow_once, every_budget, find_budget, remove_budget, set_budget
from carrel.budgets.checks import UsedUp, check_budgets, hold, note_spending
from carrel.budgets.model import Budget, BudgetRules, BudgetShape, Scope, parse_scope
from carrel.budgets.store import prune_periods

__all__ = [
    "Budget", "BudgetRules", "BudgetShape", "Scope", "UsedUp", "allow_once", "check_budgets", "every_budget",
    "find_budget", "hold", "note_spending", "parse_scope", "prune_periods", "remove_budget", "set_budget",
]  # fmt: skip

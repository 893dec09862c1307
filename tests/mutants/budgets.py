"""Mutants of budgets: what is counted, what is checked, and what waits."""

from tests.mutants.model import Mutant

_LIMITS = "tests/budgets/test_checks.py"

BUDGETS = (
    Mutant(
        "a budget is not checked before a step",
        "delivery/step.py",
        "        check_budgets(tx, claim, rules, begins=snapshot.unheard)\n",
        "        pass\n",
        _LIMITS,
    ),
    Mutant(
        "only the first step of a turn is checked",
        "delivery/step.py",
        "    if limited:\n        check_budgets",
        "    if limited and snapshot.unheard:\n        check_budgets",
        _LIMITS,
    ),
    Mutant(
        "runs that begin at once do not see each other",
        "budgets/model.py",
        "runs > 1 if is_counted",
        "runs > 1.5 if is_counted",
        _LIMITS,
    ),
    Mutant(
        "a run that waits for a budget uses up an attempt",
        "runs/store.py",
        "attempt = attempt - 1, ",
        "",
        _LIMITS,
    ),
    Mutant(
        "what waits for a budget is not released when it is allowed",
        "budgets/administration.py",
        "    release_held(tx, access, held_text(name, of))\n",
        "",
        _LIMITS,
    ),
    Mutant(
        "the usage of yesterday counts today",
        "budgets/balances.py",
        "since_day=since, ",
        "",
        _LIMITS,
    ),
    Mutant(
        "a sender's time limit is forgotten while a run waits for a budget",
        "runs/outcomes.py",
        "outcome.held_until >= run.deadline_at",
        "False",
        _LIMITS,
    ),
    Mutant(
        "a budget that only warns holds",
        "budgets/model.py",
        'self.budget.action == "warn"',
        "False",
        _LIMITS,
    ),
    Mutant(
        "a month lasts until the end of the day",
        "budgets/model.py",
        'self.per == "day":\n            return (now',
        'self.per != "forever":\n            return (now',
        _LIMITS,
    ),
    Mutant(
        "users set budgets",
        "surfaces/api/budgets.py",
        '"POST", "/api/budgets", "budget", who=OWNER',
        '"POST", "/api/budgets", "budget"',
        "tests/surfaces/api/test_budgets.py",
    ),
)

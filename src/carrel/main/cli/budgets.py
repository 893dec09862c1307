"""`budgets`: how much agents may use, and letting work go on when it is used up."""

from argparse import Namespace
from typing import Any
from urllib.parse import urlencode

from carrel.bridge import Client
from carrel.main.cli.command import Option, option
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Item, Request, Table
from carrel.main.cli.wording import distance

_OF: tuple[Option, ...] = (
    option("scope", choices=("account", "agent", "task", "session"), help="what the budget is of"),
    option("subject", "SUBJECT", "which agent, task or session; nothing for the account", nargs="?"),
    option("--period", choices=("day", "total"), help="for a day or in all, of tasks and sessions (default: day)"),
)
_MEASURES = (("tokens", "{:,} tokens"), ("costUsd", "${:,.2f}"), ("runs", "{:,} runs"))


def _amounts(amounts: Item) -> str:
    return ", ".join(text.format(amounts[name]) for name, text in _MEASURES if amounts[name] is not None)


def _used(budget: Item) -> str:
    return _amounts({name: budget["spent"][name] if budget["limits"][name] else None for name, _ in _MEASURES})


_BUDGETS = Table(
    "budgets",
    {
        "OF": "title",
        "PERIOD": "period",
        "LIMIT": lambda budget: _amounts(budget["limits"]),
        "USED": _used,
        "SHARE": lambda budget: f"{budget['share']:.0%}",
        "WAITING": "waiting",
        "RENEWS": lambda budget: distance(budget["renewsAt"]) if budget["renewsAt"] else "never",
        "SET BY": "source",
    },
    "No budgets yet. To set one: `carrel budgets set agent main --tokens 200000`",
)


def _show(answer: Item, _: Namespace, screen: Screen) -> None:
    budget = answer["budget"]
    screen.line(
        f"The budget of {budget['title']}{' for a day' if budget['period'] == 'day' else ' in all'}: "
        f"{_amounts(budget['limits'])}; used: {_used(budget)} ({budget['share']:.0%})."
    )


def _remove(client: Client, args: Namespace) -> Any:
    named = {"scope": args.scope, "subject": args.subject, "period": args.period}
    client.delete("/api/budgets?" + urlencode({name: value for name, value in named.items() if value is not None}))
    return {"removed": args.scope if args.subject is None else args.subject}


COMMANDS = (
    Request("budgets list", "show how budgets stand, the fullest first", "GET /api/budgets", _BUDGETS),
    Request("budgets set", "set a budget, in the place of the one before", "POST /api/budgets", _show).takes(
        *_OF,
        option("--tokens", "N", "tokens, of input and output", type=int),
        option("--cost", "DOLLARS", "US dollars", type=float, field="costUsd"),
        option("--runs", "N", "runs", type=int),
    ),
    Request(
        "budgets allow", "allow as much again, until the budget begins anew", "POST /api/budgets/allow", _show
    ).takes(*_OF),
    Request("budgets remove", "remove a budget", _remove, "Removed.").takes(*_OF),
)

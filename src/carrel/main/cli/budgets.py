"""`budgets`: how much agents may use, and letting work go on when it is used up."""

from argparse import Namespace
from typing import Any
from urllib.parse import urlencode

from carrel.bridge import Client
from carrel.main.cli.command import option
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Item, Request, Table
from carrel.main.cli.wording import distance

_NAME = option("name", help="the budget")
_MEASURES = (("tokens", "{:,} tokens"), ("usd", "${:,.2f}"), ("runs", "{:,} runs"))


def _amounts(amounts: Item) -> str:
    return ", ".join(text.format(amounts[name]) for name, text in _MEASURES if amounts[name] is not None)


def _used(budget: Item) -> str:
    return _amounts({name: budget["spent"][name] if budget["limits"][name] else None for name, _ in _MEASURES})


_PER = {"day": "a day", "month": "a month", "forever": "in all"}

_BUDGETS = Table(
    "budgets",
    {
        "NAME": "name",
        "OF": "title",
        "LIMIT": lambda budget: f"{_amounts(budget['limits'])} {_PER[budget['per']]}",
        "USED": _used,
        "SHARE": lambda budget: f"{budget['share']:.0%}",
        "THEN": "action",
        "WAITING": "waiting",
        "RENEWS": lambda budget: distance(budget["renewsAt"]) if budget["renewsAt"] else "never",
        "SET BY": "source",
    },
    "No budgets yet. To set one: `carrel budgets set main-daily agent:main --tokens 200000`",
)


def _show(answer: Item, _: Namespace, screen: Screen) -> None:
    budget = answer["budget"]
    screen.line(
        f"Budget {budget['name']} of {budget['title']}: {_amounts(budget['limits'])} {_PER[budget['per']]}; "
        f"used: {_used(budget)} ({budget['share']:.0%})."
    )


def _remove(client: Client, args: Namespace) -> Any:
    client.delete("/api/budgets?" + urlencode({"name": args.name}))
    return {"removed": args.name}


COMMANDS = (
    Request("budgets list", "show how budgets stand, the fullest first", "GET /api/budgets", _BUDGETS),
    Request("budgets set", "set a budget, replacing the one of that name", "POST /api/budgets", _show).takes(
        option("name", help="what it is called, in lower-case letters, digits, - and _"),
        option("scope", help="account, agent:ID, task:ID, session:KEY; or each agent, task or session"),
        option("--tokens", "N", "tokens, of input and output", type=int),
        option("--usd", "DOLLARS", "US dollars", type=float),
        option("--runs", "N", "runs", type=int),
        option("--per", choices=("day", "month", "forever"), help="for how long, in UTC (default: day)"),
        option("--action", choices=("wait", "warn"), help="work waits when it is used up, or goes on (default: wait)"),
    ),
    Request(
        "budgets allow", "allow the whole amount once more, until the budget resets", "POST /api/budgets/allow", _show
    ).takes(_NAME, option("subject", "SUBJECT", "which agent, task or session, for a budget of each", nargs="?")),
    Request("budgets remove", "remove a budget", _remove, "Removed.").takes(_NAME),
)

"""`budgets` and `usage`: how much agents may use, and what runs have used."""

from argparse import Namespace

from carrel.main.cli.command import option
from carrel.main.cli.humanize import distance
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Item, request
from carrel.main.cli.resource import OF_AGENT, OF_TASK, Resource, as_it_is

_MEASURES = (("tokens", "{:,} tokens"), ("usd", "${:,.2f}"), ("runs", "{:,} runs"))
_PER = {"day": "a day", "month": "a month", "forever": "in all"}


def _amounts(amounts: Item) -> str:
    return ", ".join(text.format(amounts[name]) for name, text in _MEASURES if amounts[name] is not None)


def _limit(budget: Item) -> str:
    return f"{_amounts(budget['limits'])} {_PER[budget['per']]}"


def _used(budget: Item) -> str:
    return _amounts({name: budget["spent"][name] if budget["limits"][name] else None for name, _ in _MEASURES})


BUDGETS = Resource(
    "budgets", "bound what agents use, and let work go on", "/api/budgets", "budget",
    {"NAME": "name", "OF": "title", "LIMIT": _limit, "USED": _used, "SHARE": lambda budget: f"{budget['share']:.0%}",
     "THEN": "action", "WAITING": "waiting",
     "RENEWS": lambda budget: distance(budget["renewsAt"]) if budget["renewsAt"] else "never", "SET BY": "source"},
    id="name", listed_only=True,
    empty="No budgets yet. To set one: `carrel budgets set main-daily agent:main --tokens 200000`",
)  # fmt: skip


def _show(answer: Item, *_: object) -> str:
    budget = answer["budget"]
    used = f"used: {_used(budget)} ({budget['share']:.0%})"
    return f"Budget {budget['name']} of {budget['title']}: {_limit(budget)}; {used}."


_NAMES = {"day": "day", "agent": "agentId", "model": "model", "task": "title", "session": "title"}


def _show_usage(answer: Item, args: Namespace, screen: Screen) -> None:
    groups = (args.by or "day").split(",")
    total = dict.fromkeys((_NAMES[group] for group in groups), "") | {_NAMES[groups[0]]: "in all"} | answer["total"]
    rows = [_cells(row, groups) for row in [*answer["usage"], *([total] if answer["usage"] else [])]]
    headers = (*(group.upper() for group in groups), "RUNS", "INPUT", "CACHED", "OUTPUT", "COST", "TIME")
    screen.table(headers, rows, empty="Nothing was used in this time.")
    if answer["more"]:
        screen.note("There is more; narrow it down with --agent, --task, --from or --to.")


def _cells(row: Item, groups: list[str]) -> list[object]:
    cost = "unknown" if row["costUsd"] is None else f"${row['costUsd']:.4f}"
    named = [row.get(_NAMES[group]) or "-" for group in groups]
    tokens = [row[name] for name in ("inputTokens", "cachedTokens", "outputTokens")]
    return [*named, row["runs"], *tokens, cost, f"{row['seconds']:.1f} s"]


_NAME = option("name", "BUDGET", "name of the budget", of=as_it_is)
RESOURCES = (BUDGETS,)
COMMANDS = (
    request(
        "usage", "show what runs used and cost", "GET /api/usage", _show_usage,
        option("--by", "WHAT", "day, agent, model, task or session, or several with commas (default: day)"),
        option("--from", "TIME", "such as 2026-01-31T00:00:00Z (default: 30 days ago)", dest="since", field="from"),
        option("--to", "TIME", "until when (default: now)", dest="until", field="to"),
        OF_AGENT, OF_TASK,
        examples=("--by agent,model",),
    ),
    BUDGETS.lists("show how budgets stand, the fullest first"),
    BUDGETS.shows(show=_show),
    request(
        "budgets set", "set a budget, replacing the one of that name", "POST /api/budgets", _show,
        option("name", "NAME", "what it is called, in lower-case letters, digits, - and _"),
        option("scope", "SCOPE", "account, agent:ID, task:ID, session:KEY; or each agent, task or session"),
        option("--tokens", "N", "tokens, of input and output", type=int),
        option("--usd", "DOLLARS", "US dollars", type=float),
        option("--runs", "N", "runs", type=int),
        option("--per", "", "for how long, in UTC (default: day)", choices=tuple(_PER)),
        option("--action", "", "work waits when it is used up, or goes on (default: wait)", choices=("wait", "warn")),
        examples=("main-daily agent:main --tokens 200000", "each-task task --per forever --usd 5"),
    ),
    request("budgets allow", "allow the whole amount once more, until the budget resets", "POST /api/budgets/allow",
            _show, _NAME,
            option("subject", "SUBJECT", "which agent, task or session, for a budget of each", nargs="?")),
    request("budgets remove", "remove a budget", "DELETE /api/budgets", "Removed.", _NAME),
)  # fmt: skip

"""`usage`: what runs have used, and what that costs."""

from argparse import Namespace
from typing import Any

from carrel.main.cli.command import option
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Request

_NAMES = {"day": "day", "agent": "agentId", "model": "model", "task": "title", "session": "title"}


def _show(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    """Print a row for each group, and the total."""
    groups = (args.by or "day").split(",")
    total = dict.fromkeys((_NAMES[group] for group in groups), "") | {_NAMES[groups[0]]: "in all"} | answer["total"]
    rows = [_cells(row, groups) for row in [*answer["usage"], *([total] if answer["usage"] else [])]]
    headers = (*(group.upper() for group in groups), "RUNS", "INPUT", "CACHED", "OUTPUT", "COST", "TIME")
    screen.table(headers, rows, empty="Nothing was used in this time.")
    if answer["more"]:
        screen.note("There is more; narrow it down with --agent, --task, --from or --to.")


def _cells(row: dict[str, Any], groups: list[str]) -> list[object]:
    cost = "unknown" if row["costUsd"] is None else f"${row['costUsd']:.4f}"
    named = [row.get(_NAMES[group]) or "-" for group in groups]
    tokens = [row[name] for name in ("inputTokens", "cachedTokens", "outputTokens")]
    return [*named, row["runs"], *tokens, cost, f"{row['seconds']:.1f} s"]


COMMANDS = (
    Request("usage", "show what runs used and cost", "GET /api/usage", _show).takes(
        option("--by", "WHAT", "day, agent, model, task or session, or several with commas (default: day)"),
        option("--from", "TIME", "such as 2026-01-31T00:00:00Z (default: 30 days ago)", dest="since", field="from"),
        option("--to", "TIME", "until when (default: now)", dest="until", field="to"),
        option("--agent", "AGENT", "only of this agent", field="agentId"),
        option("--task", "TASK", "only for this task", field="taskId"),
    ),
)

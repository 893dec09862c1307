"""What runs cost: tokens, time and money per day, by agent, model, task and session."""

from carrel.usage.counter import count_last_step, count_run, count_step
from carrel.usage.model import GROUPS, By, Tally, cost_of, priced
from carrel.usage.report import UsageReport, report_usage
from carrel.usage.store import COLUMNS, UsageFilter, prune_usage, usage_of

__all__ = [
    "COLUMNS", "GROUPS", "By", "Tally", "UsageFilter", "UsageReport", "cost_of", "count_last_step", "count_run",
    "count_step", "priced", "prune_usage", "report_usage", "usage_of",
]  # fmt: skip

"""What runs cost: tokens, time and money per day, by agent, model, task and session."""

from carrel.usage.model import GROUPS, By, Spent
from carrel.usage.observers import count_replay, observe_runs
from carrel.usage.report import UsageReport, report_usage
from carrel.usage.store import UsageFilter, prune_usage

__all__ = [
    "GROUPS",
    "By",
    "Spent",
    "UsageFilter",
    "UsageReport",
    "count_replay",
    "observe_runs",
    "prune_usage",
    "report_usage",
]

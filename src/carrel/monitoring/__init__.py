"""What people see of runs: lists and counts, why a run is not moving, and notifications of failures."""

from carrel.monitoring.caller_store import CallerRunFilter, Phase, count_caller_runs, newest_caller_runs
from carrel.monitoring.metrics import account_metrics, metrics_by_account, server_metrics
from carrel.monitoring.notifications import headline, notifies, notify_people, observe_runs
from carrel.monitoring.store import (
    RunFilter,
    WaitsFor,
    awaited_of_lanes,
    count_held,
    count_live,
    count_unreachable,
    queue_order,
    runs_newest_first,
    stuck_lanes,
    visible_run,
)
from carrel.monitoring.titles import titles_of_runs
from carrel.monitoring.why import Reason, Why, explain

__all__ = [
    "CallerRunFilter", "Phase", "Reason", "RunFilter", "WaitsFor", "Why", "account_metrics", "awaited_of_lanes",
    "count_caller_runs", "count_held", "count_live", "count_unreachable", "explain", "headline", "metrics_by_account",
    "newest_caller_runs", "notifies", "notify_people", "observe_runs", "queue_order", "runs_newest_first",
    "server_metrics", "stuck_lanes", "titles_of_runs", "visible_run",
]  # fmt: skip

"""Runs: messages to a session on their way to an outcome.

The queue, claims, leases, outcomes and retries. What happens in a turn is decided in the rooms above.
"""

from carrel.runs.answers import CallOutput, answer, continue_run, is_sender_call, open_calls
from carrel.runs.caller_store import CallerRunFilter, count_caller_runs, newest_caller_runs, release_sender
from carrel.runs.cancellation import cancel, require_cancelled, stop_lane
from carrel.runs.changes import LaneStopped, RunChanged, RunRetried, about_run, publish_change
from carrel.runs.claims import fence
from carrel.runs.dispatcher import Dispatcher
from carrel.runs.entries import agent_entry, run_entry
from carrel.runs.extras_store import extras_of
from carrel.runs.lane_store import newest_end, queue_order
from carrel.runs.list_store import RunFilter, count_live, runs_newest_first, stuck_lanes
from carrel.runs.model import Claim, ClaimLost, Completed, Failed, NeedsInput, Outcome, Run
from carrel.runs.notifications import notify_people, observe_runs, subject_of
from carrel.runs.pruner import Pruner
from carrel.runs.queue import Rules, check_message, deliver
from carrel.runs.queue_store import live_runs_of_lane, queue_position
from carrel.runs.removal import remove_lane, remove_lane_when_stopped, retire_agent
from carrel.runs.requested_ends import OutsideCall, RequestedEnd, read_requested_end, replace_requested_end, request_end
from carrel.runs.retries import retry, retry_delay_ms
from carrel.runs.store import bind_session, count_change, hold_run, note_instructions, run_by_id, run_by_sender
from carrel.runs.visibility import visible_run
from carrel.runs.watch import SETTLED_STATES, Watch
from carrel.runs.why import Why, explain

__all__ = [
    "SETTLED_STATES", "CallOutput", "CallerRunFilter", "Claim", "ClaimLost", "Completed", "Dispatcher", "Failed",
    "LaneStopped", "NeedsInput", "Outcome", "OutsideCall", "Pruner", "RequestedEnd", "Rules", "Run", "RunChanged",
    "RunFilter", "RunRetried", "Watch", "Why", "about_run", "agent_entry", "answer", "bind_session", "cancel",
    "check_message", "continue_run", "count_caller_runs", "count_change", "count_live", "deliver", "explain",
    "extras_of", "fence", "hold_run", "is_sender_call", "live_runs_of_lane", "newest_caller_runs", "newest_end",
    "note_instructions", "notify_people", "observe_runs", "open_calls", "publish_change", "queue_order",
    "queue_position", "read_requested_end", "release_sender", "remove_lane", "remove_lane_when_stopped",
    "replace_requested_end", "request_end", "require_cancelled", "retire_agent", "retry", "retry_delay_ms",
    "run_by_id", "run_by_sender", "run_entry", "runs_newest_first", "stop_lane", "stuck_lanes", "subject_of",
    "visible_run",
]  # fmt: skip

"""Runs: their queue, claims, leases, outcomes and retries. The rooms above decide what happens in a turn."""

from carrel.runs.advances import advance
from carrel.runs.answers import (
    AGENT_ACTION,
    CallOutput,
    answer,
    continue_run,
    end_unanswered,
    is_sender_call,
    open_actions,
    open_calls,
    run_that_made,
)
from carrel.runs.cancellation import cancel, stop_lane
from carrel.runs.changes import Delivering, LaneStopped, RunChanged, RunRetried, about_run, publish_change
from carrel.runs.claims import fence
from carrel.runs.concurrency import UNLIMITED, Concurrency, Shortage, shortage_of
from carrel.runs.count_store import count_of_caller
from carrel.runs.dispatcher import Dispatcher
from carrel.runs.entries import agent_entry, run_entry
from carrel.runs.faults import FaultFields
from carrel.runs.held_store import release_held
from carrel.runs.model import (
    OVERTAKEN,
    Cancelled,
    Claim,
    ClaimLost,
    Completed,
    ExternalCall,
    Failed,
    NeedsInput,
    Outcome,
    RequestedEnd,
    Run,
)
from carrel.runs.outages import Outages
from carrel.runs.pruner import Pruner
from carrel.runs.queue import Rules, deliver, reads_to_enter
from carrel.runs.queue_store import extend_queued, lane_head, live_runs_of_lane, queue_position
from carrel.runs.removal import remove_lane, remove_lane_when_stopped, retire_agent
from carrel.runs.requested_ends import replace_requested_end, request_end
from carrel.runs.retries import retry, retry_delay_ms
from carrel.runs.steering_messages import take_up
from carrel.runs.store import (
    RUN_TABLE,
    bind_session,
    count_change,
    extras_of,
    hold_run,
    release_sender,
    run_by_id,
    run_by_sender,
)
from carrel.runs.watch import Watch

__all__ = [
    "AGENT_ACTION", "OVERTAKEN", "RUN_TABLE", "UNLIMITED", "CallOutput", "Cancelled", "Claim", "ClaimLost", "Completed",
    "Concurrency", "Delivering", "Dispatcher", "ExternalCall", "Failed", "FaultFields", "LaneStopped", "NeedsInput",
    "Outages", "Outcome", "Pruner", "RequestedEnd", "Rules", "Run", "RunChanged", "RunRetried", "Shortage", "Watch",
    "about_run", "advance", "agent_entry", "answer", "bind_session", "cancel", "continue_run", "count_change",
    "count_of_caller", "deliver", "end_unanswered", "extend_queued", "extras_of", "fence", "hold_run", "is_sender_call",
    "lane_head", "live_runs_of_lane", "open_actions", "open_calls", "publish_change", "queue_position",
    "reads_to_enter", "release_held", "release_sender", "remove_lane", "remove_lane_when_stopped",
    "replace_requested_end", "request_end", "retire_agent", "retry", "retry_delay_ms", "run_by_id", "run_by_sender",
    "run_entry", "run_that_made", "shortage_of", "stop_lane", "take_up",
]  # fmt: skip

"""Runs: what is said to a session on its way to an outcome.

The queue, the claim, the lifeline; no turn is taken here.
"""

from carrel.runs.accepting import Rules, check_message, deliver
from carrel.runs.answering import CallOutput, answer, go_on, is_senders, open_calls, retry
from carrel.runs.call_store import (
    Call,
    call_of,
    finish_call,
    has_written,
    record_call,
    tools_called,
    wrote_from_outside,
)
from carrel.runs.carrying import CARRIED, part_sent, pass_over, post_failed, post_words, take_posts
from carrel.runs.dispatcher import Dispatcher, Handler
from carrel.runs.exchange_store import (
    Exchange,
    awaits_child,
    begin_exchange,
    due_exchanges,
    exchange_after,
    exchange_of_run,
    hold_exchange,
    keep_exchange,
    next_exchange_due,
)
from carrel.runs.extras_store import extras_of
from carrel.runs.informing import crowded_hosts, keep_webhook, take_webhooks, webhook_failed, webhook_told
from carrel.runs.lane_store import attachment_heads, delete_attachments, newest_end, queue_order
from carrel.runs.lifeline import rescue_lost
from carrel.runs.model import (
    Cancelled,
    Claim,
    ClaimLost,
    Completed,
    Failed,
    NeedsInput,
    Outcome,
    Run,
    outside_call,
    retry_delay_ms,
)
from carrel.runs.notifying import notify_people, subject_of
from carrel.runs.post_store import (
    Waybill,
    claim_post,
    keep_place,
    next_post_due,
    place_of_run,
    post_by_id,
    release_posts,
    waiting_at,
)
from carrel.runs.pruner import prune
from carrel.runs.queue_store import (
    expire_leases,
    live_runs_of_lane,
    queue_position,
    running_of_lane,
)
from carrel.runs.record_store import (
    REPLY_ARTIFACT,
    Artifact,
    Attachment,
    RunFilter,
    artifact_part,
    artifact_sizes,
    artifacts_of,
    attachments_by_id,
    count_live,
    insert_artifact,
    insert_attachment,
    runs_newest_first,
    stuck_lanes,
)
from carrel.runs.removing import remove_lane
from carrel.runs.response_store import (
    Response,
    insert_response,
    newest_response,
    next_response,
    release_key,
    response_by_id,
    response_by_key,
)
from carrel.runs.retiring import retire_agent
from carrel.runs.settling import claim, fence, hand_on, settle
from carrel.runs.stopping import cancel, require_cancelled, stop_lane
from carrel.runs.store import (
    bind_session,
    count_change,
    delete_run,
    note_instructions,
    run_by_id,
    run_by_sender,
)
from carrel.runs.task_store import TaskFilter, count_tasks, newest_tasks, release_sender
from carrel.runs.telling import about_run, tell
from carrel.runs.wanting import OutsideCall, WantedEnd, keep_end, want_end, wanted_end
from carrel.runs.watching import RESTS, Watch
from carrel.runs.webhook_store import (
    Webhook,
    WebhookAddress,
    delete_webhook,
    next_webhook_due,
    release_webhooks,
    webhook_by_id,
    webhooks_of_run,
)
from carrel.runs.why import Why, explain

__all__ = [
    "CARRIED", "REPLY_ARTIFACT", "RESTS", "Artifact", "Attachment", "Call", "CallOutput",
    "Cancelled", "Claim", "ClaimLost", "Completed", "Dispatcher", "Exchange", "Failed", "Handler", "NeedsInput",
    "Outcome", "OutsideCall", "Response", "Rules", "Run", "RunFilter", "TaskFilter", "WantedEnd", "Watch",
    "Waybill", "Webhook", "WebhookAddress", "Why",
    "about_run", "answer", "artifact_part", "artifact_sizes", "artifacts_of", "attachment_heads", "attachments_by_id",
    "awaits_child", "begin_exchange", "bind_session", "call_of", "cancel", "check_message", "claim", "claim_post",
    "count_change", "count_live", "count_tasks", "crowded_hosts", "delete_attachments", "delete_run", "delete_webhook",
    "deliver", "due_exchanges", "exchange_after", "exchange_of_run", "expire_leases", "explain", "extras_of", "fence",
    "finish_call", "go_on", "hand_on", "has_written", "hold_exchange", "insert_artifact", "insert_attachment",
    "insert_response", "is_senders", "keep_end", "keep_exchange", "keep_place", "keep_webhook", "live_runs_of_lane",
    "newest_end", "newest_response", "newest_tasks", "next_exchange_due", "next_post_due", "next_response",
    "next_webhook_due", "note_instructions", "notify_people", "open_calls", "outside_call", "part_sent", "pass_over",
    "place_of_run", "post_by_id", "post_failed", "post_words", "prune", "queue_order", "queue_position", "record_call",
    "release_key", "release_posts", "release_sender", "release_webhooks", "remove_lane", "require_cancelled",
    "rescue_lost", "response_by_id", "response_by_key", "retire_agent", "retry", "retry_delay_ms", "run_by_id",
    "run_by_sender", "running_of_lane", "runs_newest_first", "settle", "stop_lane", "stuck_lanes", "subject_of",
    "take_posts", "take_webhooks", "tell", "tools_called", "waiting_at", "want_end", "wanted_end", "webhook_by_id",
    "webhook_failed", "webhook_told", "webhooks_of_run", "wrote_from_outside",
]  # fmt: skip

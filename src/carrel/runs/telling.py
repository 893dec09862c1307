"""What the feed is told of a run."""

from typing import Any

import msgspec

from carrel.journal import About, append_event
from carrel.kernel import METRICS
from carrel.runs.carrying import post_outcome
from carrel.runs.exchange_store import note_run_ended
from carrel.runs.model import ENDS, Claim
from carrel.runs.notifying import notify_failed
from carrel.runs.store import change_of
from carrel.runs.webhook_store import want_webhooks
from carrel.storage import SCHEDULES, WEBHOOKS, Tx

_encode = msgspec.json.Encoder().encode


def about_run(run: Claim) -> About:
    """What a run's events concern."""
    key = run.session_key
    return About(
        key=run.key,
        conversation=key.conversation,
        generation=run.generation,
        run_id=run.id,
        task_id=run.task_id or key.task_id,
        agent_id=run.agent_id,
    )


def tell(tx: Tx, run: Claim, name: str, *, state: str, reason: str | None = None, **more: Any) -> None:
    """Write a run's event, in the transaction of what it tells of."""
    body = {
        "state": state,
        "reason": reason,
        "attempt": run.attempt,
        "provenance": msgspec.Raw(run.provenance.encode()),
        **more,
    }
    change = None
    if run.provenance_kind == "a2a":
        # Whoever follows a task over A2A follows its changes by number; other runs have nobody who would.
        change = change_of(tx, run)
        if want_webhooks(tx, run.access, run.id, change):
            tx.wake(WEBHOOKS)
    append_event(tx, run.access, name, about_run(run), _encode(body).decode(), change=change)
    post_outcome(tx, run, state)
    if state in ENDS:
        note_run_ended(tx, run.access, run.id, run.provenance_kind)
    if run.provenance_kind == "cron" and state not in ("queued", "running"):
        # What follows the run is decided where schedules are.
        tx.wake(SCHEDULES)
    if state == "failed":
        notify_failed(tx, run)


def count_end(run: Claim, state: str, reason: str | None, now: int) -> None:
    """Count an ended run and how long it worked."""
    METRICS.count("runs.ended.count", state=state, reason=reason or "")
    if reason == "dead_letter":
        METRICS.count("runs.dead_letter.count")
    if run.started_at is not None:
        METRICS.observe("runs.duration.seconds", (now - run.started_at) / 1000, provenance=run.provenance_kind)

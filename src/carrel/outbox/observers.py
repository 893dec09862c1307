"""Writes to the outbox when a run changes or is retried, in the transaction of that change."""

from carrel.outbox.posts import copy_reply_address, post_outcome
from carrel.outbox.webhooks import mark_webhooks_due
from carrel.runs import RunChanged, RunRetried
from carrel.storage import Database


def observe_runs(db: Database) -> None:
    """Register the observers of runs."""
    db.observe(RunChanged, mark_webhooks_due)
    db.observe(RunChanged, post_outcome)
    db.observe(RunRetried, copy_reply_address)

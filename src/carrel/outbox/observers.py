"""What leaves when a run changes or is repeated; written inside the transaction of that change."""

from carrel.outbox.posts import post_again, post_outcome
from carrel.outbox.webhooks import want_webhooks
from carrel.runs import RunChanged, RunRetried
from carrel.storage import Database


def observe_runs(db: Database) -> None:
    """Register what the outbox needs to hear of runs."""
    db.observe(RunChanged, want_webhooks)
    db.observe(RunChanged, post_outcome)
    db.observe(RunRetried, post_again)

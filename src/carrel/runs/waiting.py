"""Waiting for a run by its id: held by whoever asks, over the stored run, always bounded."""

from carrel.kernel import Access, elapsed_seconds, not_found
from carrel.kernel.limits import SAFETY_POLL_SECONDS
from carrel.runs import store
from carrel.runs.model import Run
from carrel.storage import FEED, Database

# What a waiter is released by: the end, or a question that somebody must answer first.
RESTS = ("completed", "failed", "cancelled", "waiting")


async def wait_for_rest(db: Database, access: Access, run_id: str, seconds_max: float) -> Run:
    """The run once it rests, or as it is when the time is up."""
    bell = db.bell(FEED)
    deadline = elapsed_seconds() + seconds_max
    while True:
        version = bell.version
        run = await db.read(lambda tx: store.run_by_id(tx, access, run_id))
        if run is None:
            raise not_found("run")
        left = deadline - elapsed_seconds()
        if run.state in RESTS or left <= 0:
            return run
        await bell.wait(version, min(left, SAFETY_POLL_SECONDS))

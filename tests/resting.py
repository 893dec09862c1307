"""Waiting in a test for a run to rest, in the house's own way: a watch that follows the feed."""

import asyncio

from carrel.kernel import Access
from carrel.runs import Run, Watch
from carrel.storage import Database


async def wait_for_rest(db: Database, access: Access, run_id: str, seconds_max: float) -> Run:
    """The run once it rests, or as it is when the time is up."""
    watch = Watch(db)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(watch.serve())
        rested = await watch.until_settled(access, run_id, seconds_max)
        serving.cancel()
    return rested

"""Streams of one task: the task first, then its changes by number, read from the stored feed."""

from collections.abc import AsyncGenerator
from functools import partial

from carrel.journal import changes_of_run
from carrel.kernel.limits import STREAM_PAGE_ROWS, STREAM_PING_SECONDS
from carrel.runs import Run, run_by_id
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.task_json import ENDED, SETTLED, Detail, Update, task_json, updates_of_event
from carrel.surfaces.http.services import Services

# None is a ping.
UpdateStream = AsyncGenerator[Update | None, None]


async def follow_task(
    services: Services, caller: Caller, run: Run, detail: Detail, *, after: int, until_settled: bool
) -> UpdateStream:
    """Yield the task as `run` has it, then every change after the number `after`, and None as a ping.

    The stream ends when the task ends or asks for something. A task that is already waiting is followed on, unless
    `until_settled`.
    """
    access = caller.access
    with services.watch.bell(access.account_id, run.id) as bell:
        task = await services.db.read(lambda tx: task_json(tx, access, run, detail))
        # Numbered by what the client has seen: if it is cut off right here, it must still get the next change.
        yield (after, {"task": task})
        if until_settled and run.settled and after >= run.changes:
            return
        while True:
            version = bell.version
            updates = await services.db.read(partial(_updates_after, caller=caller, run_id=run.id, after=after))
            if updates is None:
                return
            for after, update in updates:
                yield (after, update)
                # A question from before this stream has been answered, unless it is the newest change.
                ends = ENDED if after < run.changes else SETTLED
                if "statusUpdate" in update and update["statusUpdate"]["status"]["state"] in ends:
                    return
            if not updates:
                await bell.wait(version, STREAM_PING_SECONDS)
                if bell.version == version:
                    yield None


def _updates_after(tx: Tx, caller: Caller, run_id: str, after: int) -> list[Update] | None:
    """Return the updates after a change; None once the task no longer exists."""
    run = run_by_id(tx, caller.access, run_id)
    if run is None:
        return None
    events = changes_of_run(tx, caller.access, run_id, after, limit=STREAM_PAGE_ROWS)
    updates = [update for change, event in events for update in updates_of_event(tx, caller.access, run, change, event)]
    return [update for update in updates if update[0] > after]

"""Following one task: the task first, then its changes by number, from the stored feed and from nowhere else."""

from collections.abc import AsyncGenerator
from functools import partial

from carrel.journal import changes_of_run
from carrel.kernel.limits import STREAM_PAGE_ROWS, STREAM_PING_SECONDS
from carrel.runs import SETTLED_STATES, Run, run_by_id
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.task_view import ENDED, RESTING, Json, Shown, Update, render, updates
from carrel.surfaces.http.house import House


async def follow(
    house: House, caller: Caller, run: Run, shown: Shown, *, after: int, until_rest: bool
) -> AsyncGenerator[Update | None, None]:
    """The task as `run` has it, then what came behind the change `after`; None now and then, as a sign of life.

    It ends when the task ends or asks for something. A task that rests already is followed on, unless `until_rest`.
    """
    access = caller.access
    with house.watch.bell(access.account_id, run.id) as bell:
        task = await house.db.read(lambda tx: render(tx, access, run, shown))
        # Numbered by what its reader has seen: whoever is cut off right here must still be told of what comes next.
        yield (after, {"task": task})
        if until_rest and run.state in SETTLED_STATES and after >= run.changes:
            return
        while True:
            version = bell.version
            found = await house.db.read(partial(_behind, caller=caller, run_id=run.id, after=after))
            if found is None:
                return
            for update in found:
                yield update
                after = update[0]
                # A question from before this stream began was answered, unless it is the newest change there was.
                if _rests(update[1], ENDED if after < run.changes else RESTING):
                    return
            if not found:
                await bell.wait(version, STREAM_PING_SECONDS)
                if bell.version == version:
                    yield None


def _behind(tx: Tx, caller: Caller, run_id: str, after: int) -> list[Update] | None:
    """What came behind a change; None once the task is no more."""
    run = run_by_id(tx, caller.access, run_id)
    if run is None:
        return None
    told = changes_of_run(tx, caller.access, run_id, after, limit=STREAM_PAGE_ROWS)
    found = [update for change, event in told for update in updates(tx, caller.access, run, change, event)]
    return [update for update in found if update[0] > after]


def _rests(update: Json, states: tuple[str, ...]) -> bool:
    """True for an update to one of those states."""
    return "statusUpdate" in update and update["statusUpdate"]["status"]["state"] in states

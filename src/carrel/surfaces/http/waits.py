"""Waiting for runs on behalf of a request: bounded, and never longer than the server lives."""

from carrel.kernel import Access, Code, Refusal, elapsed_seconds
from carrel.kernel.limits import SAFETY_POLL_SECONDS
from carrel.runs import RESTS, Run
from carrel.surfaces.http.house import House


def refuse_when_draining(house: House) -> None:
    """A server that is about to stop takes no new messages; another one, or the next, will."""
    if house.draining():
        raise Refusal(
            Code.DRAINING, "The server is stopping and takes nothing new; try again shortly.", retry_after_seconds=5
        )


async def rest_of(house: House, access: Access, run_id: str, seconds_max: float) -> Run:
    """The run once it rests, or as it is when the time is up or the server stops."""
    deadline = elapsed_seconds() + seconds_max
    while True:
        left = max(0.0, deadline - elapsed_seconds())
        run = await house.watch.rest(access, run_id, min(left, SAFETY_POLL_SECONDS))
        if run.state in RESTS or elapsed_seconds() >= deadline or house.closing.is_set():
            return run

"""Waiting for a run, optionally reporting the attempts that fail meanwhile."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from math import ceil

from carrel.bridge.api.feed import Follow, feed_query
from carrel.bridge.api.operations import Call
from carrel.bridge.api.requests import Request, segment
from carrel.bridge.api.shapes import Fault, Run, read, read_part
from carrel.bridge.faults import Refused, TimedOut
from carrel.bridge.stream import StreamEvent
from carrel.kernel import elapsed_seconds

# How long one request waits; shorter if failed attempts are reported.
_POLL_SECONDS = 20
_FAULT_POLL_SECONDS = 1
# A request may take this much longer than it waits.
_SLACK_SECONDS = 10
_SETTLING = frozenset({"run.waiting", "run.completed", "run.failed", "run.cancelled"})

OnFault = Callable[[Fault], None]


def run_path(run_id: str) -> str:
    """Return the path of a run."""
    return f"/api/runs/{segment(run_id)}"


def read_run(run_id: str) -> Call[Run]:
    """Read a run."""
    return read(Run, (yield Request("GET", run_path(run_id)))["run"])


def wait_for_run(run_id: str, seconds: float, on_fault: OnFault | None) -> Call[Run]:
    """Wait until a run has ended or waits for somebody."""
    until, tell = elapsed_seconds() + seconds, on_fault and _each_once(on_fault)
    run: Run | None = None
    if tell:
        try:
            run = yield from _followed(run_id, until, tell)
        except Refused as refused:
            # A caller may see the run and not its session.
            if refused.status != HTTPStatus.NOT_FOUND:
                raise
    run = run or (yield from _polled(run_id, until, tell))
    if not run.settled:
        raise TimedOut(f"After {seconds:g} seconds the run {run_id} is still {run.state}.")
    return run


def _followed(run_id: str, until: float, tell: OnFault) -> Call[Run]:
    """Follow the events of a run's session, which include every failed attempt; return the run as it is then."""
    run = yield from _looked_at(run_id, tell)
    query = feed_query(run.session_key, None, None, ["run"])
    while not run.settled and (left := until - elapsed_seconds()) > 0:
        opening = yield Follow(query, left)
        # Read once the number of the newest event is known: all that happens from now on is after it.
        run = yield from _looked_at(run_id, tell)
        if opening and not run.settled:
            left, settles = until - elapsed_seconds(), partial(_settles, run_id, tell)
            yield Follow(query, left, str(opening.body["seq"]), settles)
            run = yield from _looked_at(run_id, tell)
    return run


def _settles(run_id: str, tell: OnFault, frame: StreamEvent) -> bool:
    """Return whether the run may have settled with this event, or events were missed; report a failed attempt."""
    if frame.name == "stream.reset":
        return True
    if frame.body.get("runId") != run_id:
        return False
    if frame.name in ("run.retrying", "run.held"):
        said = frame.body["data"]
        tell(read_part(Fault, said | said["error"]))
    return frame.name in _SETTLING


def _polled(run_id: str, until: float, tell: OnFault | None) -> Call[Run]:
    """Ask until a run has settled or the time is up; return the run as it is then."""
    longest = _FAULT_POLL_SECONDS if tell else _POLL_SECONDS
    while True:
        poll = max(0, min(longest, ceil(until - elapsed_seconds())))
        query = {"timeoutSeconds": poll}
        yield Request("GET", f"{run_path(run_id)}/wait", query, timeout_seconds=poll + _SLACK_SECONDS)
        run = yield from _looked_at(run_id, tell)
        if run.settled or elapsed_seconds() >= until:
            return run


def _looked_at(run_id: str, tell: OnFault | None) -> Call[Run]:
    """Read a run; if it goes on, report its last failed attempt."""
    run = yield from read_run(run_id)
    if tell and run.last_fault and not run.settled:
        tell(run.last_fault)
    return run


def _each_once(on_fault: OnFault) -> OnFault:
    told: set[tuple[int, bool]] = set()

    def tell(fault: Fault) -> None:
        # An attempt that found the gateway unreachable shares its number with the next one.
        this = (fault.attempt, fault.unreachable_since is not None)
        if this not in told:
            told.add(this)
            on_fault(fault)

    return tell

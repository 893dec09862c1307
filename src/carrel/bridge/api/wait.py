"""Waiting for a run, optionally reporting the attempts that fail meanwhile."""

from collections.abc import Callable
from contextlib import aclosing
from http import HTTPStatus
from math import ceil

from carrel.bridge.api.feed import FEED_PATH, StreamEvent, feed_query, frames
from carrel.bridge.api.operations import Driver, path_of
from carrel.bridge.api.requests import Request
from carrel.bridge.api.shapes import Fault, Run, read, read_part
from carrel.bridge.faults import Refused, TimedOut
from carrel.kernel import elapsed_seconds

# How long one request waits; shorter if failed attempts are reported.
_POLL_SECONDS = 20
_FAULT_POLL_SECONDS = 1
# A request may take this much longer than it waits.
_SLACK_SECONDS = 10
_SETTLING = frozenset({"run.waiting", "run.completed", "run.failed", "run.cancelled"})

OnFault = Callable[[Fault], None]


async def read_run(driver: Driver, run_id: str) -> Run:
    return read(Run, (await driver.exchange(Request("GET", path_of("runs", run_id))))["run"])


async def wait_for_run(driver: Driver, run_id: str, seconds: float, on_fault: OnFault | None) -> Run:
    until, report = elapsed_seconds() + seconds, on_fault and _each_once(on_fault)
    run: Run | None = None
    if report:
        try:
            run = await _followed(driver, run_id, until, report)
        except Refused as refused:
            # A caller may see the run and not its session.
            if refused.status != HTTPStatus.NOT_FOUND:
                raise
    run = run or await _polled(driver, run_id, until, report)
    if not run.settled:
        raise TimedOut(f"After {seconds:g} seconds the run {run_id} is still {run.state}.")
    return run


async def _followed(driver: Driver, run_id: str, until: float, report: OnFault) -> Run:
    """Follow the events of a run's session, which include every failed attempt; return the run as it is then."""
    run = await _looked_at(driver, run_id, report)
    query = feed_query(run.session_key, None, None, ["run"])
    while not run.settled and (left := until - elapsed_seconds()) > 0:
        async with aclosing(frames(driver, FEED_PATH, query, seconds=left)) as feed:
            async for frame in feed:
                if frame.name == "stream.ready":
                    # All that happens from now on is in the stream.
                    run = await _looked_at(driver, run_id, report)
                if run.settled or _settles(run_id, report, frame):
                    break
        run = await _looked_at(driver, run_id, report)
    return run


def _settles(run_id: str, report: OnFault, frame: StreamEvent) -> bool:
    """Return whether the run may have settled with this event, or events were missed; report a failed attempt."""
    if frame.name == "stream.reset":
        return True
    if frame.body.get("runId") != run_id:
        return False
    if frame.name in ("run.retrying", "run.held"):
        data = frame.body["data"]
        report(read_part(Fault, data | data["error"]))
    return frame.name in _SETTLING


async def _polled(driver: Driver, run_id: str, until: float, report: OnFault | None) -> Run:
    """Ask until a run has settled or the time is up; return the run as it is then."""
    longest = _FAULT_POLL_SECONDS if report else _POLL_SECONDS
    while True:
        poll = max(0, min(longest, ceil(until - elapsed_seconds())))
        query, path = {"timeoutSeconds": poll}, path_of("runs", run_id, "wait")
        await driver.exchange(Request("GET", path, query, timeout_seconds=poll + _SLACK_SECONDS))
        run = await _looked_at(driver, run_id, report)
        if run.settled or elapsed_seconds() >= until:
            return run


async def _looked_at(driver: Driver, run_id: str, report: OnFault | None) -> Run:
    """Read a run; if it goes on, report its last failed attempt."""
    run = await read_run(driver, run_id)
    if report and run.last_fault and not run.settled:
        report(run.last_fault)
    return run


def _each_once(on_fault: OnFault) -> OnFault:
    reported: set[tuple[int, bool]] = set()

    def report(fault: Fault) -> None:
        # An attempt that found the gateway unreachable shares its number with the next one.
        this = (fault.attempt, fault.unreachable_since is not None)
        if this not in reported:
            reported.add(this)
            on_fault(fault)

    return report

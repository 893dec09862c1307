"""Which runs a caller may see."""

from carrel.kernel import Access, not_found
from carrel.runs import Run, run_by_id
from carrel.sessions import lane_of, may_see
from carrel.storage import Tx


def visible_run(tx: Tx, access: Access, run_id: str) -> Run:
    """Return a run that the caller may see; any other is refused as if it did not exist."""
    run = run_by_id(tx, access, run_id)
    lane = None if run is None else lane_of(tx, access, run.session_key)
    if run is None or lane is None or not may_see(tx, access, lane.session_key, lane.made_by):
        raise not_found("run")
    return run

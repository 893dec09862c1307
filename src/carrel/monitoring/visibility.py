"""Which runs a caller may see."""

from carrel.kernel import Access, not_found
from carrel.monitoring import store
from carrel.runs import Run
from carrel.storage import Tx


def visible_run(tx: Tx, access: Access, run_id: str) -> Run:
    """Return a run that the caller may see; otherwise refuse as not found."""
    run = store.run_in_view(tx, access, run_id)
    if run is None:
        raise not_found("run")
    return run

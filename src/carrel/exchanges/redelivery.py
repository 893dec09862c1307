"""Redelivering: a person has a result offered again that could not be delivered."""

from carrel.exchanges.conclusion import offering
from carrel.exchanges.duty import hold
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.store import exchange_after, keep_exchange
from carrel.kernel import Access, Code, Refusal
from carrel.runs import Run
from carrel.sessions import make_lane
from carrel.storage import Tx


def redeliver(tx: Tx, access: Access, run: Run) -> Exchange:
    """Offer the result that follows after a run again, from the step at which it was given up."""
    seen = exchange_after(tx, access, run.id)
    exchange = None if seen is None else hold(tx, seen)
    if exchange is None or exchange.state != "undelivered":
        state = "nothing follows after it" if exchange is None else f"what follows after it is {exchange.state}"
        raise Refusal(Code.CONFLICT, f"This run has no undelivered result: {state}.")
    if exchange.kind == "spawn":
        # Whoever deleted the requester's lane gets it back with the result: it is asked for now, by a person.
        make_lane(tx, access, exchange.requester)
    # An announcement that failed is made anew; one that is there goes out as it is.
    current_run_id = None if exchange.step == "announce" else exchange.current_run_id
    opened = moved(exchange, state="open", current_run_id=current_run_id, error=None, ended_at=None, due_at=tx.now)
    again = offering(tx, opened)
    keep_exchange(tx, access, again)
    return again

"""Redelivery: a person has an undelivered result delivered again."""

from carrel.exchanges.conclusion import reset_attempts
from carrel.exchanges.duty import lock
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.store import exchange_after, keep_exchange
from carrel.kernel import Access, Code, Refusal
from carrel.runs import Run
from carrel.sessions import make_lane
from carrel.storage import Tx


def redeliver(tx: Tx, access: Access, run: Run) -> Exchange:
    """Deliver the result of a run again, from the step at which it was given up."""
    seen = exchange_after(tx, access, run.id)
    exchange = None if seen is None else lock(tx, seen)
    if exchange is None or exchange.state != "undelivered":
        state = "it has no result to deliver" if exchange is None else f"its result is {exchange.state}"
        raise Refusal(Code.CONFLICT, f"This run has no undelivered result: {state}.")
    if exchange.kind == "spawn":
        # A deleted requester's lane is created again: a person asks for the result now.
        make_lane(tx, access, exchange.requester)
    # A failed announcement is written anew; an existing one is posted as it is.
    current_run_id = None if exchange.step == "announce" else exchange.current_run_id
    opened = moved(exchange, state="open", current_run_id=current_run_id, error=None, ended_at=None, due_at=tx.now)
    again = reset_attempts(tx, opened)
    keep_exchange(tx, access, again)
    return again

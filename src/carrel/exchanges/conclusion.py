"""How an exchange ends, and how a failed step is retried and finally given up.

Every function returns the changed exchange; the caller writes it.
"""

from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.notifications import notify_undelivered
from carrel.journal import append_event, json_text
from carrel.kernel import METRICS, MS_PER_SECOND, clip
from carrel.kernel.limits import ERROR_CHARS_MAX, OFFER_AGAIN_SECONDS, OFFER_AGAIN_SECONDS_MAX, OFFERING_SECONDS_MAX
from carrel.runs import about_run, run_by_id
from carrel.storage import Tx


def reset_attempts(tx: Tx, exchange: Exchange) -> Exchange:
    """Start counting attempts, and the time after which they are given up, from zero."""
    return moved(exchange, attempts=0, expires_at=tx.now + OFFERING_SECONDS_MAX * MS_PER_SECOND)


def retry_later(tx: Tx, exchange: Exchange, why: str) -> Exchange | None:
    """Make a failed step due again after a backoff; None when the time is up."""
    wait_seconds = min(OFFER_AGAIN_SECONDS_MAX, OFFER_AGAIN_SECONDS * 2 ** min(exchange.attempts, 10))
    due_at = tx.now + wait_seconds * MS_PER_SECOND
    if exchange.expires_at is not None and due_at > exchange.expires_at:
        return None
    error = clip(why, ERROR_CHARS_MAX)
    return moved(exchange, attempts=exchange.attempts + 1, error=error, due_at=due_at)


def retry_or_give_up(tx: Tx, exchange: Exchange, why: str) -> Exchange:
    """Make a failed step due again after a backoff, or conclude as undelivered when the time is up."""
    later = retry_later(tx, exchange, why)
    if later is not None:
        return later
    return conclude(tx, moved(exchange, attempts=exchange.attempts + 1), "undelivered", why)


def delivered(tx: Tx, exchange: Exchange) -> Exchange:
    """Conclude: the result has been delivered."""
    return conclude(tx, moved(exchange, attempts=exchange.attempts + 1), "delivered")


def skipped(tx: Tx, exchange: Exchange, why: str | None = None) -> Exchange:
    """Conclude: there is nothing to deliver."""
    return conclude(tx, exchange, "skipped", why)


def conclude(tx: Tx, exchange: Exchange, state: str, why: str | None = None) -> Exchange:
    """End an exchange; publish an event if its result was delivered, or could not be."""
    if state != "skipped":
        METRICS.count(f"announce.{state}.count")
        first = run_by_id(tx, exchange.access, exchange.first_run_id)
        assert first is not None, "an exchange is deleted with its first run"
        to = exchange.requester_key if exchange.kind == "spawn" else exchange.target_key
        body = {"runId": first.id, "attempts": exchange.attempts, "to": to}
        append_event(tx, exchange.access, f"announce.{state}", about_run(first), json_text(body))
        if state == "undelivered":
            notify_undelivered(tx, exchange, first, to, why or "no reason was given.")
    return moved(
        exchange, state=state, error=None if why is None else clip(why, ERROR_CHARS_MAX), due_at=None, ended_at=tx.now
    )

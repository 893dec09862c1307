"""How an exchange ends, and how a failed step is retried and finally given up.

Every step returns the changed exchange; the caller writes it. People are notified of results that could not be
delivered, or arrived after the session had ended.
"""

from carrel.exchanges.model import Exchange, moved
from carrel.journal import append_event, json_text
from carrel.kernel import METRICS, MS_PER_SECOND, clip, redact
from carrel.kernel.limits import ERROR_CHARS_MAX, OFFER_AGAIN_SECONDS, OFFER_AGAIN_SECONDS_MAX, OFFERING_SECONDS_MAX
from carrel.monitoring import headline, notify_people
from carrel.notifications import NewNotification
from carrel.runs import Run, about_run, run_by_id
from carrel.sessions import session_by_id
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
    return moved(exchange, attempts=exchange.attempts + 1, error=clip(why, ERROR_CHARS_MAX), due_at=due_at)


def retry_or_give_up(tx: Tx, exchange: Exchange, why: str) -> Exchange:
    """Make a failed step due again after a backoff, or conclude as undelivered when the time is up."""
    given_up = moved(exchange, attempts=exchange.attempts + 1)
    return retry_later(tx, exchange, why) or conclude(tx, given_up, "undelivered", why)


def delivered(tx: Tx, exchange: Exchange) -> Exchange:
    return conclude(tx, moved(exchange, attempts=exchange.attempts + 1), "delivered")


def conclude(tx: Tx, exchange: Exchange, state: str, why: str | None = None) -> Exchange:
    """End an exchange; publish an event if its result was delivered, or could not be."""
    if state != "skipped":
        METRICS.count(f"announce.{state}.count", exchange.account_id)
        first = run_by_id(tx, exchange.access, exchange.first_run_id)
        assert first is not None, "an exchange is deleted with its first run"
        to = exchange.requester_key if exchange.kind == "spawn" else exchange.target_key
        body = {"runId": first.id, "attempts": exchange.attempts, "to": to}
        append_event(tx, exchange.access, f"announce.{state}", about_run(first), json_text(body))
        if state == "undelivered":
            _notify_undelivered(tx, exchange, first, to, why or "no reason was given.")
    error = None if why is None else clip(why, ERROR_CHARS_MAX)
    return moved(exchange, state=state, error=error, due_at=None, ended_at=tx.now)


def _notify_undelivered(tx: Tx, exchange: Exchange, first: Run, to: str, why: str) -> None:
    """Notify people that a result could not be delivered; it is kept with its run and can be delivered again."""
    new = NewNotification(
        type="run_undelivered",
        title=headline(tx, first, "could not deliver"),
        body=f"It did not reach {to}: {clip(redact(why), ERROR_CHARS_MAX)}\n"
        "The result is kept with its run and can be delivered again.",
        key=first.key,
        task_id=first.task_id,
        run_id=first.id,
        session_id=first.session_id,
    )
    _notify(tx, exchange, first, new)


def notify_if_session_ended(tx: Tx, exchange: Exchange) -> None:
    """Notify people that a result was delivered to a lane after the session that asked for it had ended.

    For a person it did not arrive, so the notification has the type of an undelivered result.
    """
    if exchange.requester_session_id is None:
        # It was requested from outside any session.
        return
    session = session_by_id(tx, exchange.access, exchange.requester_session_id)
    if session is not None and session.closed_at is None:
        return
    first = run_by_id(tx, exchange.access, exchange.first_run_id)
    assert first is not None, "an exchange is deleted with its first run"
    new = NewNotification(
        type="run_undelivered",
        title=headline(tx, first, "finished after the session had ended"),
        body=f"The session that asked for this has ended. The result is in the next session of "
        f"{exchange.requester_key}, and is kept with its run.",
        key=exchange.requester_key,
        run_id=first.id,
    )
    _notify(tx, exchange, first, new)


def _notify(tx: Tx, exchange: Exchange, first: Run, new: NewNotification) -> None:
    # The result also matters to the person whose message the requester was working on.
    requester = run_by_id(tx, exchange.access, exchange.requester_run_id) if exchange.requester_run_id else None
    notify_people(tx, exchange.access, [first, requester] if requester else [first], new)

"""Notifying people about results that could not be delivered, or arrived after the session had ended."""

from carrel.exchanges.model import Exchange
from carrel.kernel import clip, redact
from carrel.kernel.limits import ERROR_CHARS_MAX
from carrel.monitoring import notify_people, subject_of
from carrel.notifications import NewNotification
from carrel.runs import Run, run_by_id
from carrel.sessions import session_by_id
from carrel.storage import Tx


def notify_undelivered(tx: Tx, exchange: Exchange, first: Run, to: str, why: str) -> None:
    """Notify people that a result could not be delivered; it is kept with its run and can be delivered again."""
    new = NewNotification(
        type="run_undelivered",
        title=f"{first.agent_id} could not deliver: {subject_of(first)}",
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

    For a person it did not arrive, so the type is that of an undelivered result.
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
        title=f"{first.agent_id} came back after the session had ended: {subject_of(first)}",
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

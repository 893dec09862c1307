"""What people are told of results on their way: that one could not be delivered, or came after the session ended."""

from carrel.exchanges.model import Exchange
from carrel.journal import NewNotification
from carrel.kernel import clip, redact
from carrel.kernel.limits import ERROR_CHARS_MAX
from carrel.runs import Run, notify_people, run_by_id, subject_of
from carrel.sessions import session_by_id
from carrel.storage import Tx


def tell_undelivered(tx: Tx, exchange: Exchange, first: Run, to: str, why: str) -> None:
    """Tell that a result was given up; it is with its run, and can be delivered again from there."""
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
    _tell(tx, exchange, first, new)


def tell_if_session_ended(tx: Tx, exchange: Exchange) -> None:
    """Tell that a result was handed to a lane whose session, the one that asked for it, has ended meanwhile.

    Who asked is not there to hear it, so to a person it did not arrive: the type is that of a result not delivered.
    """
    if exchange.requester_session_id is None:
        # A program asked from outside of any session.
        return
    asked_in = session_by_id(tx, exchange.access, exchange.requester_session_id)
    if asked_in is not None and asked_in.closed_at is None:
        return
    first = run_by_id(tx, exchange.access, exchange.first_run_id)
    assert first is not None, "an exchange is forgotten with its first run"
    new = NewNotification(
        type="run_undelivered",
        title=f"{first.agent_id} came back after the session had ended: {subject_of(first)}",
        body=f"The session that asked for this has ended. The result lies in the next one of {exchange.requester_key}, "
        "and is kept with its run.",
        key=exchange.requester_key,
        run_id=first.id,
    )
    _tell(tx, exchange, first, new)


def _tell(tx: Tx, exchange: Exchange, first: Run, new: NewNotification) -> None:
    # In the end the result answers the message that the requester was given.
    asked_by = run_by_id(tx, exchange.access, exchange.requester_run_id) if exchange.requester_run_id else None
    notify_people(tx, exchange.access, [first, asked_by] if asked_by else [first], new)

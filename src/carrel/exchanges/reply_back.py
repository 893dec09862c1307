"""Reply-back after a send: rounds of replies between the two lanes, then an announcement on the target's channel.

Each step is a queued run like any other. In the requester's lane it starts only after the turn there has ended, so
that two lanes never wait for each other.
"""

from carrel.exchanges.conclusion import conclude, reset_attempts, retry_later, retry_or_give_up
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.prompts import REPLY_SKIP, announce_message, inline_notice, visible_reply
from carrel.exchanges.steps import Flow, deliver_step
from carrel.kernel import MS_PER_MINUTE, MS_PER_SECOND, Code, Refusal
from carrel.kernel.limits import INLINE_LOOK_SECONDS
from carrel.runs import Run, cancel, run_by_id
from carrel.storage import Tx


def _call_waits_until(tx: Tx, exchange: Exchange) -> int | None:
    """Return when to check again whether the requester's call still waits for the reply; None if it does not."""
    assert exchange.expires_at is not None, "a call waits for a bounded time"
    if exchange.expires_at <= tx.now:
        return None
    if exchange.requester_run_id is not None:
        caller = run_by_id(tx, exchange.access, exchange.requester_run_id)
        if caller is None or caller.ended:
            return None
    return min(exchange.expires_at, tx.now + INLINE_LOOK_SECONDS * MS_PER_SECOND)


class SendFlow(Flow):
    """The steps of a send after the target's run; it needs no cleaning up."""

    def advance(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        """Take the next step; return the changed exchange."""
        match exchange.step:
            case "primary":
                return self._after_primary(tx, exchange, run)
            case "reply":
                return self._after_reply(tx, exchange, run)
            case _:
                return self._after_announce(tx, exchange, run)

    def _after_primary(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if exchange.answered_inline is None:
            if (check_at := _call_waits_until(tx, exchange)) is not None:
                return moved(exchange, due_at=check_at)
            # The waiting call has ended or was lost: the reply goes to the requester as a round of its own.
            exchange = moved(exchange, answered_inline=0, expires_at=None)
        if run is not None and not run.ended:
            return moved(exchange, due_at=None)
        if run is None or run.state != "completed":
            return conclude(tx, exchange, "skipped", None if run is None else f"The run {run.state}.")
        if (run.reply or "").strip() == REPLY_SKIP:
            return self._announce(tx, exchange)
        reply = visible_reply(run.reply)
        if reply is None:
            return conclude(tx, exchange, "skipped")
        return self._next_round(tx, moved(exchange, last_reply=reply, expires_at=self._expiry(tx, exchange)))

    def _expiry(self, tx: Tx, exchange: Exchange) -> int | None:
        minutes = self._settings.sessions.reply_back_expiry_minutes
        return exchange.expires_at or (tx.now + int(minutes * MS_PER_MINUTE) if minutes else None)

    def _after_reply(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        expired = exchange.expires_at is not None and exchange.expires_at <= tx.now
        if run is not None and not run.ended:
            if not expired:
                return moved(exchange, due_at=exchange.expires_at)
            self._cancel_late(tx, exchange, run)
        reply = visible_reply(run.reply) if run is not None and run.state == "completed" else None
        if reply is None:
            return self._announce(tx, exchange)
        replied = moved(exchange, last_reply=reply)
        return self._announce(tx, replied) if expired else self._next_round(tx, replied)

    def _cancel_late(self, tx: Tx, exchange: Exchange, run: Run) -> None:
        """Cancel a reply that was not started in time, unless the requester has no other way to get the answer."""
        is_first_answer = exchange.round == 2 and not exchange.answered_inline
        if run.state == "queued" and not is_first_answer:
            cancel(tx, exchange.access, run.id, "expired")

    def _next_round(self, tx: Tx, exchange: Exchange) -> Exchange:
        """Deliver the newest reply to the other side, if rounds are left."""
        if exchange.round > exchange.rounds_max:
            return self._announce(tx, exchange)
        receiver = exchange.requester if exchange.round % 2 == 1 else exchange.target
        is_known = exchange.round == 1 and exchange.answered_inline
        text = inline_notice(exchange) if is_known else exchange.last_reply or ""
        try:
            run = deliver_step(tx, self._rules, exchange, text, "reply_back", to=receiver)
        except Refusal as refusal:
            later = retry_later(tx, exchange, refusal.message) if refusal.code is Code.QUEUE_FULL else None
            return later or self._announce(tx, exchange)
        return moved(
            exchange,
            step="reply",
            round=exchange.round + 1,
            current_run_id=run.id,
            due_at=exchange.expires_at,
            error=None,
        )

    def _announce(self, tx: Tx, exchange: Exchange) -> Exchange:
        """Ask the target for the announcement to post on its channel."""
        if exchange.step != "announce":
            exchange = reset_attempts(tx, moved(exchange, step="announce", current_run_id=None))
        first = run_by_id(tx, exchange.access, exchange.first_run_id)
        assert first is not None, "an exchange is deleted with its first run"
        text = announce_message(exchange, first)
        try:
            run = deliver_step(tx, self._rules, exchange, text, "announce", to=exchange.target)
        except Refusal as refusal:
            if refusal.code is Code.QUEUE_FULL:
                return retry_or_give_up(tx, exchange, refusal.message)
            return conclude(tx, exchange, "undelivered", refusal.message)
        return moved(exchange, current_run_id=run.id, due_at=None, error=None)

    def _after_announce(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if exchange.current_run_id is None:
            return self._announce(tx, exchange)
        if run is None:
            return conclude(tx, exchange, "skipped", "The announcement was deleted.")
        if not run.ended:
            return moved(exchange, due_at=None)
        if run.state == "failed":
            why = f"The announcement failed: {run.error_message or run.reason}"
            return conclude(tx, moved(exchange, attempts=exchange.attempts + 1), "undelivered", why)
        announcement = visible_reply(run.reply) if run.state == "completed" else None
        if announcement is None:
            return conclude(tx, exchange, "skipped")
        return reset_attempts(tx, moved(exchange, step="carry", announcement=announcement, due_at=tx.now))

"""The course of a send: rounds of replies between the two lanes, then one announcement on the target's channel.

Each step is a queued run like any other. In the requester's lane it waits until the turn there has ended, so that
nobody ever waits for a lane that waits for him.
"""

from carrel.exchanges.conclusion import again_later, conclude, offering, put_off, skipped
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.prompts import announce_message, inline_notice
from carrel.exchanges.steps import say
from carrel.kernel import MS_PER_MINUTE, MS_PER_SECOND, REPLY_SKIP, Code, Refusal, visible_reply
from carrel.kernel.limits import INLINE_LOOK_SECONDS
from carrel.kernel.settings import Settings
from carrel.runs import Rules, Run, cancel, run_by_id
from carrel.storage import Tx


def _call_waits_until(tx: Tx, exchange: Exchange) -> int | None:
    """When to look again whether the requester's call still waits for the reply; None when it does not."""
    assert exchange.expires_at is not None, "a call waits for a bounded time"
    if exchange.expires_at <= tx.now:
        return None
    if exchange.requester_run_id is not None:
        caller = run_by_id(tx, exchange.access, exchange.requester_run_id)
        if caller is None or caller.ended:
            return None
    return min(exchange.expires_at, tx.now + INLINE_LOOK_SECONDS * MS_PER_SECOND)


class ReplyBack:
    """How a send goes on after the run it asked for."""

    def __init__(self, settings: Settings, rules: Rules) -> None:
        self._settings = settings
        self._rules = rules

    def go_on(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        """Do what is next now that the current run has ended, or its time is up; the exchange as it is then."""
        match exchange.step:
            case "primary":
                return self._after_primary(tx, exchange, run)
            case "reply":
                return self._after_reply(tx, exchange, run)
            case _:
                return self._after_announce(tx, exchange, run)

    def concluded(self, tx: Tx, exchange: Exchange) -> None:
        """Nothing is left to clear away."""

    def _after_primary(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if exchange.answered_inline is None:
            look_at = _call_waits_until(tx, exchange)
            if look_at is not None:
                return moved(exchange, due_at=look_at)
            # The call that waited is over or was lost: the reply goes to the requester by its own round.
            exchange = moved(exchange, answered_inline=0, expires_at=None)
        if run is not None and not run.ended:
            return moved(exchange, due_at=None)
        if run is None or run.state != "completed":
            return skipped(tx, exchange, None if run is None else f"The run {run.state}.")
        said = (run.reply or "").strip()
        if said == REPLY_SKIP:
            return self._announce(tx, exchange)
        reply = visible_reply(said)
        if reply is None:
            return skipped(tx, exchange)
        return self._next_round(tx, moved(exchange, last_reply=reply, expires_at=self._expiry(tx, exchange)))

    def _expiry(self, tx: Tx, exchange: Exchange) -> int | None:
        minutes = self._settings.sessions.reply_back_expiry_minutes
        return exchange.expires_at or (tx.now + int(minutes * MS_PER_MINUTE) if minutes else None)

    def _after_reply(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        is_over = exchange.expires_at is not None and exchange.expires_at <= tx.now
        if run is not None and not run.ended:
            if not is_over:
                return moved(exchange, due_at=exchange.expires_at)
            self._let_go(tx, exchange, run)
            return self._announce(tx, exchange)
        reply = visible_reply(run.reply) if run is not None and run.state == "completed" else None
        if reply is None:
            return self._announce(tx, exchange)
        heard = moved(exchange, last_reply=reply)
        return self._announce(tx, heard) if is_over else self._next_round(tx, heard)

    def _let_go(self, tx: Tx, exchange: Exchange, run: Run) -> None:
        """Take back a reply that nobody has heard in time, unless it is the only way the requester hears of it."""
        is_late_answer = exchange.round == 2 and not exchange.answered_inline
        if run.state == "queued" and not is_late_answer:
            cancel(tx, exchange.access, run.id, "expired")

    def _next_round(self, tx: Tx, exchange: Exchange) -> Exchange:
        """Carry the newest reply to the other side, if another round is left."""
        if exchange.round > exchange.rounds_max:
            return self._announce(tx, exchange)
        hearer = exchange.requester if exchange.round % 2 == 1 else exchange.target
        is_known = exchange.round == 1 and exchange.answered_inline
        text = inline_notice(exchange) if is_known else exchange.last_reply or ""
        try:
            run = say(tx, self._rules, exchange, text, "reply_back", to=hearer)
        except Refusal as refusal:
            later = again_later(tx, exchange, refusal.message) if refusal.code is Code.QUEUE_FULL else None
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
        """Let the target put into words what is to be said on its channel."""
        if exchange.step != "announce":
            exchange = offering(tx, moved(exchange, step="announce", current_run_id=None))
        first = run_by_id(tx, exchange.access, exchange.first_run_id)
        assert first is not None, "an exchange is forgotten with its first run"
        text = announce_message(exchange, first)
        try:
            run = say(tx, self._rules, exchange, text, "announce", to=exchange.target)
        except Refusal as refusal:
            if refusal.code is Code.QUEUE_FULL:
                return put_off(tx, exchange, refusal.message)
            return conclude(tx, exchange, "undelivered", refusal.message)
        return moved(exchange, current_run_id=run.id, due_at=None, error=None)

    def _after_announce(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        if exchange.current_run_id is None:
            return self._announce(tx, exchange)
        if run is None:
            return skipped(tx, exchange, "The announcement was deleted.")
        if not run.ended:
            return moved(exchange, due_at=None)
        if run.state == "failed":
            why = f"The announcement failed: {run.error_message or run.reason}"
            return conclude(tx, moved(exchange, attempts=exchange.attempts + 1), "undelivered", why)
        announcement = visible_reply(run.reply) if run.state == "completed" else None
        if announcement is None:
            return skipped(tx, exchange)
        return offering(tx, moved(exchange, step="carry", announcement=announcement, due_at=tx.now))

"""Exchanges: what follows a message sent to another session, or the spawn of a sub-agent, until the result is back.

Replies, the announce step and the delivery of the result. Each step is an ordinary queued run; this room decides which
step comes next.
"""

from carrel.exchanges.duty import Exchanges, observe_runs, redeliver
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.prompts import HEARTBEAT_OK, NO_REPLY, may_be_silent, visible_reply
from carrel.exchanges.steps import briefing_of
from carrel.exchanges.store import begin_exchange, exchange_after, keep_exchange

__all__ = [
    "HEARTBEAT_OK", "NO_REPLY", "Exchange", "Exchanges", "begin_exchange", "briefing_of", "exchange_after",
    "keep_exchange", "may_be_silent", "moved", "observe_runs", "redeliver", "visible_reply",
]  # fmt: skip

"""What is sent to another session and comes back: send, spawn, announce, reply-back, and results that are kept.

Each step is a queued run like any other; this room decides which step follows which.
"""

from carrel.exchanges.briefing import briefing_of
from carrel.exchanges.duty import Exchanges
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.observers import observe_runs
from carrel.exchanges.redelivery import redeliver
from carrel.exchanges.store import (
    awaits_child,
    begin_exchange,
    due_exchanges,
    exchange_after,
    exchange_of_run,
    hold_exchange,
    keep_exchange,
    next_exchange_due,
)

__all__ = [
    "Exchange",
    "Exchanges",
    "awaits_child",
    "begin_exchange",
    "briefing_of",
    "due_exchanges",
    "exchange_after",
    "exchange_of_run",
    "hold_exchange",
    "keep_exchange",
    "moved",
    "next_exchange_due",
    "observe_runs",
    "redeliver",
]

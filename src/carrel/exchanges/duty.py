"""Exchanging: goes on with every exchange whose run has ended or whose time has come, beside the turns, never in one.

How far each has come stands in the store, so a restart goes on where the last server stood, and several servers share
the work. The next step and the row that says so are one transaction; only what leaves on a channel is said outside of
one, and noted afterwards.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from logging import getLogger
from typing import Protocol

from carrel.exchanges.announce import SubAgents
from carrel.exchanges.conclusion import conclude, delivered, put_off
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.reply_back import ReplyBack
from carrel.exchanges.store import EXCHANGES, due_exchanges, hold_exchange, keep_exchange, next_exchange_due
from carrel.kernel import MS_PER_SECOND, Refusal
from carrel.kernel.limits import (
    EXCHANGE_BROKEN_SECONDS,
    EXCHANGES_AT_A_TIME,
    POST_LEASE_SECONDS,
    POST_SECONDS_MAX,
    POSTS_AT_A_TIME,
)
from carrel.kernel.settings import Settings
from carrel.outbox import ChannelMessage, Channels, channel_of
from carrel.runs import Rules, Run, run_by_id
from carrel.sessions import lane_of, lock_lane, require_sending
from carrel.storage import Database, Duty, LeasedDuty, Tx

_log = getLogger("carrel.delivery")


class Course(Protocol):
    """How exchanges of one kind go on. Both lanes and the exchange are held while it decides."""

    def go_on(self, tx: Tx, exchange: Exchange, run: Run | None) -> Exchange:
        """Do what is next and give the exchange as it is to be kept.

        Called once the current run has ended or is gone (None), and when `due_at` has come. Without a `due_at` the
        exchange waits for its `current_run_id` to end. Step "carry" says that `announcement` is to leave on the
        channel of a lane, the requester's for a spawn, the target's for a send; the rest is done here.
        """
        ...

    def concluded(self, tx: Tx, exchange: Exchange) -> None:
        """Clear away what the exchange needed, now that it is no longer open; after it was written."""
        ...


class Exchanges:
    """Goes on with the exchanges of one store; several servers may do so side by side."""

    def __init__(self, db: Database, settings: Settings, rules: Rules, channels: Channels) -> None:
        courses: Mapping[str, Course] = {"send": ReplyBack(settings, rules), "spawn": SubAgents(settings, rules)}
        self._steps = _Steps(db, rules, channels, courses)
        self._carry = _Carry(db, channels, courses)

    async def serve(self) -> None:
        """Go on with whatever is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._steps.serve())
            group.create_task(self._carry.serve())


class _Steps(Duty[Exchange]):
    """Takes the next step of every exchange whose run has ended or whose time has come."""

    name = "exchanges"
    bell = EXCHANGES
    items_max = EXCHANGES_AT_A_TIME

    def __init__(self, db: Database, rules: Rules, channels: Channels, courses: Mapping[str, Course]) -> None:
        super().__init__(db)
        self._rules = rules
        self._channels = channels
        self._courses = courses

    def next_due(self, tx: Tx) -> int | None:
        """When a step is next due."""
        return next_exchange_due(tx, carried=False)

    def take(self, tx: Tx, limit: int) -> list[Exchange]:
        """Exchanges in which a step is due."""
        return due_exchanges(tx, limit, carried=False)

    async def do(self, item: Exchange) -> None:
        """One step of one exchange; one that breaks off waits a while."""
        try:
            await self.db.write(partial(self._go_on, seen=item))
        except Exception:
            with suppress(Refusal):
                await self.db.write(partial(_leave_for_later, seen=item))
            raise

    def _go_on(self, tx: Tx, seen: Exchange) -> None:
        exchange = hold(tx, seen)
        if exchange is None or exchange.state != "open" or exchange.due_at is None or exchange.due_at > tx.now:
            return
        run = None
        if exchange.current_run_id is not None:
            run = run_by_id(tx, exchange.access, exchange.current_run_id)
        exchange = self._courses[exchange.kind].go_on(tx, exchange, run)
        if exchange.step == "carry" and exchange.state == "open":
            exchange = self._leave(tx, exchange)
        keep(tx, self._courses, exchange)

    def _leave(self, tx: Tx, exchange: Exchange) -> Exchange:
        """What becomes of a result that is to be said on a channel: most channels show what is stored."""
        lane = lock_lane(tx, exchange.access, str(exchange.announced_in))
        channel = None if lane is None else channel_of(lane)
        if lane is None or channel not in self._channels:
            return delivered(tx, exchange)
        try:
            require_sending(self._rules.send_policy, exchange.announced_in, channel_of(lane), lane.send_policy)
        except Refusal as refusal:
            return conclude(tx, exchange, "undelivered", refusal.message)
        return exchange


class _Carry(LeasedDuty[Exchange]):
    """Says results on the channels that must be carried to, and notes how that went."""

    name = "announcements"
    bell = EXCHANGES
    items_max = POSTS_AT_A_TIME

    def __init__(self, db: Database, channels: Channels, courses: Mapping[str, Course]) -> None:
        super().__init__(db)
        self._channels = channels
        self._courses = courses

    def next_due(self, tx: Tx) -> int | None:
        """When the next result may leave."""
        return next_exchange_due(tx, carried=True)

    def take(self, tx: Tx, limit: int) -> list[Exchange]:
        """Take results that are to leave now, with a lease."""
        held = [hold(tx, seen) for seen in due_exchanges(tx, limit, carried=True)]
        due = [one for one in held if one is not None and one.state == "open" and (one.due_at or tx.now + 1) <= tx.now]
        taken = [moved(exchange, due_at=tx.now + POST_LEASE_SECONDS * MS_PER_SECOND) for exchange in due]
        for exchange in taken:
            keep_exchange(tx, exchange.access, exchange)
        return taken

    async def do(self, item: Exchange) -> None:
        """Say one result on its channel and note how that went."""
        fault: str | None = None
        try:
            message = await self.db.read(lambda tx: _message(tx, item))
            if message is not None and message.channel in self._channels:
                async with asyncio.timeout(POST_SECONDS_MAX):
                    await self._channels[message.channel].post(message)
        except Exception as error:  # boundary: a channel that fails, in whatever way, takes nothing else with it
            fault = f"{type(error).__name__}: {error}"
            _log.warning("post_failed", extra={"run_id": item.first_run_id, "error": fault})
        with suppress(Refusal):
            # When the store is away the lease brings it back.
            await self.db.write(partial(self._note, taken=item, fault=fault))

    def _note(self, tx: Tx, taken: Exchange, fault: str | None) -> None:
        exchange = hold(tx, taken)
        if exchange is None or exchange.state != "open" or exchange.due_at != taken.due_at:
            # Somebody else has taken it since.
            return
        keep(tx, self._courses, delivered(tx, exchange) if fault is None else put_off(tx, exchange, fault))


def keep(tx: Tx, courses: Mapping[str, Course], exchange: Exchange) -> None:
    """Write an exchange as it is now, and clear away after one that is no longer open."""
    keep_exchange(tx, exchange.access, exchange)
    if exchange.state != "open":
        courses[exchange.kind].concluded(tx, exchange)


def _message(tx: Tx, exchange: Exchange) -> ChannelMessage | None:
    """What is said, and where; None when the lane is gone."""
    lane = lane_of(tx, exchange.access, exchange.announced_in)
    if lane is None:
        return None
    return ChannelMessage(
        id=exchange.id,
        account_id=exchange.account_id,
        key=exchange.announced_in,
        channel=channel_of(lane),
        to=lane.last_to,
        text=exchange.announcement or "",
    )


def hold(tx: Tx, seen: Exchange) -> Exchange | None:
    """An exchange as it is now, held with both its lanes; lanes come first and in their order, as everywhere."""
    for key in sorted({seen.requester_key, seen.target_key}):
        lock_lane(tx, seen.access, key)
    return hold_exchange(tx, seen.access, seen.id)


def _leave_for_later(tx: Tx, seen: Exchange) -> None:
    # Only one that is still as it was when it broke off: what was lost may have been no more than the word of success.
    if hold(tx, seen) == seen:
        later = moved(seen, due_at=tx.now + EXCHANGE_BROKEN_SECONDS * MS_PER_SECOND)
        keep_exchange(tx, later.access, later)

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

from msgspec import structs

from carrel.delivery.channels import Channels, Post, channel_of
from carrel.delivery.concluding import conclude, delivered, put_off
from carrel.delivery.replying import ReplyBack
from carrel.delivery.subagents import SubAgents
from carrel.kernel import MS_PER_SECOND, Refusal, log_trouble
from carrel.kernel.limits import (
    EXCHANGE_BROKEN_SECONDS,
    EXCHANGES_AT_A_TIME,
    POST_LEASE_SECONDS,
    POST_SECONDS_MAX,
    POSTS_AT_A_TIME,
    SAFETY_POLL_SECONDS,
)
from carrel.runs import Exchange, Run, due_exchanges, hold_exchange, keep_exchange, next_exchange_due, run_by_id
from carrel.sessions import lock_lane, require_sending
from carrel.storage import EXCHANGES, Database, Tx
from carrel.tools import Surroundings

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

    def __init__(self, db: Database, house: Surroundings, channels: Channels) -> None:
        self._db = db
        self._house = house
        self._channels = channels
        self._courses: Mapping[str, Course] = {"send": ReplyBack(house), "spawn": SubAgents(house)}
        self._bell = db.bell(EXCHANGES)
        # How many posts are under way here.
        self._posts = 0

    async def serve(self) -> None:
        """Go on with whatever is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                version = self._bell.version
                found, wait_seconds = await self._look()
                for seen in found:
                    post = await self._step(seen)
                    if post is not None:
                        self._posts += 1
                        group.create_task(self._carry(*post))
                if not found:
                    await self._bell.wait(version, wait_seconds)

    async def _look(self) -> tuple[list[Exchange], float]:
        """What is due now; and how long to wait when that is nothing."""
        try:
            return await self._db.read(_due)
        except Exception as error:  # boundary: the store may be away for a while; so are we, and try again
            log_trouble(_log, "exchanges_unread", error)
            return [], SAFETY_POLL_SECONDS

    async def _step(self, seen: Exchange) -> tuple[Exchange, Post] | None:
        try:
            return await self._db.write(partial(self._go_on, seen=seen))
        except Exception as error:  # boundary: one broken exchange must not hold up the others
            log_trouble(_log, "exchange_broke_off", error, run_id=seen.first_run_id)
        with suppress(Refusal):
            await self._db.write(partial(_leave_for_later, seen=seen))
        return None

    def _go_on(self, tx: Tx, seen: Exchange) -> tuple[Exchange, Post] | None:
        """One step of one exchange; what is to be said on a channel, if that is what is left."""
        exchange = hold(tx, seen)
        if exchange is None or exchange.state != "open" or exchange.due_at is None or exchange.due_at > tx.now:
            return None
        if exchange.step != "carry":
            run = None
            if exchange.current_run_id is not None:
                run = run_by_id(tx, exchange.access, exchange.current_run_id)
            exchange = self._courses[exchange.kind].go_on(tx, exchange, run)
        if exchange.state != "open" or exchange.step != "carry":
            self._keep(tx, exchange)
            return None
        return self._take_post(tx, exchange)

    def _take_post(self, tx: Tx, exchange: Exchange) -> tuple[Exchange, Post] | None:
        """Take what is to leave on a channel; where the channel shows what is stored, it is there already."""
        key = exchange.requester if exchange.kind == "spawn" else exchange.target
        lane = lock_lane(tx, exchange.access, str(key))
        channel = None if lane is None else channel_of(lane)
        if lane is None or channel is None or channel not in self._channels:
            self._keep(tx, delivered(tx, exchange))
            return None
        try:
            require_sending(self._house.rules.send_policy, key, channel, lane.send_policy)
        except Refusal as refusal:
            self._keep(tx, conclude(tx, exchange, "undelivered", refusal.message))
            return None
        if self._posts >= POSTS_AT_A_TIME:
            later = structs.replace(exchange, due_at=tx.now + SAFETY_POLL_SECONDS * MS_PER_SECOND)
            keep_exchange(tx, later.access, later)
            return None
        taken = structs.replace(exchange, due_at=tx.now + POST_LEASE_SECONDS * MS_PER_SECOND)
        keep_exchange(tx, taken.access, taken)
        text = exchange.announcement or ""
        to = lane.last_to
        post = Post(id=exchange.id, account_id=exchange.account_id, key=key, channel=channel, to=to, text=text)
        return taken, post

    async def _carry(self, taken: Exchange, post: Post) -> None:
        """Say something on a channel and note how that went."""
        fault: str | None = None
        try:
            async with asyncio.timeout(POST_SECONDS_MAX):
                await self._channels[post.channel].post(post)
        except Exception as error:  # boundary: a channel that fails, in whatever way, takes nothing else with it
            fault = f"{type(error).__name__}: {error}"
            _log.warning("post_failed", extra={"run_id": taken.first_run_id, "error": fault})
        finally:
            self._posts -= 1
        with suppress(Refusal):
            # When the store is away the lease brings it back.
            await self._db.write(partial(self._note, taken=taken, fault=fault))

    def _note(self, tx: Tx, taken: Exchange, fault: str | None) -> None:
        exchange = hold(tx, taken)
        if exchange is None or exchange.state != "open" or exchange.due_at != taken.due_at:
            # Somebody else has taken it since.
            return
        self._keep(tx, delivered(tx, exchange) if fault is None else put_off(tx, exchange, fault))

    def _keep(self, tx: Tx, exchange: Exchange) -> None:
        keep_exchange(tx, exchange.access, exchange)
        if exchange.state != "open":
            self._courses[exchange.kind].concluded(tx, exchange)


def hold(tx: Tx, seen: Exchange) -> Exchange | None:
    """An exchange as it is now, held with both its lanes; lanes come first and in their order, as everywhere."""
    for key in sorted({seen.requester_key, seen.target_key}):
        lock_lane(tx, seen.access, key)
    return hold_exchange(tx, seen.access, seen.id)


def _due(tx: Tx) -> tuple[list[Exchange], float]:
    found = due_exchanges(tx, EXCHANGES_AT_A_TIME)
    due_at = None if found else next_exchange_due(tx)
    if due_at is None:
        return found, SAFETY_POLL_SECONDS
    return found, max(0.001, min((due_at - tx.now) / MS_PER_SECOND, SAFETY_POLL_SECONDS))


def _leave_for_later(tx: Tx, seen: Exchange) -> None:
    # Only one that is still as it was when it broke off: what was lost may have been no more than the word of success.
    if hold(tx, seen) == seen:
        later = structs.replace(seen, due_at=tx.now + EXCHANGE_BROKEN_SECONDS * MS_PER_SECOND)
        keep_exchange(tx, later.access, later)

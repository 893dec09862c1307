"""The duty that advances exchanges whose run has ended or whose time has come, outside of turns.

The progress of each exchange is stored, so a restarted server continues where the last one stopped, and several servers
share the work. A step and the row that records it are one transaction; only posting to a channel happens outside of
one and is recorded afterwards.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from logging import getLogger

from carrel.exchanges import store
from carrel.exchanges.announce import SpawnFlow
from carrel.exchanges.conclusion import conclude, delivered, reset_attempts, retry_or_give_up
from carrel.exchanges.model import Exchange, moved
from carrel.exchanges.reply_back import SendFlow
from carrel.exchanges.steps import Flow
from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal, limits
from carrel.kernel.settings import Settings
from carrel.outbox import ChannelMessage, Channels, channel_of
from carrel.runs import LaneStopped, Rules, Run, RunChanged, RunRetried, run_by_id
from carrel.sessions import lane_of, lock_lane, make_lane, require_sending
from carrel.storage import Database, LeasedDuty, StepDuty, Tx

_log = getLogger("carrel.delivery")


Flows = Mapping[str, Flow]
# Only runs of these kinds can belong to an exchange, so other runs save the query.
_KINDS = ("inter_session", "reply_back", "announce", "spawn")
# What a retry's exchange inherits from the earlier one.
_KEPT = (
    "account_id", "kind", "requester_key", "requester_session_id", "requester_run_id", "target_key", "rounds_max",
    "cleanup", "wakes",
)  # fmt: skip


class Exchanges:
    """Advances the exchanges of one store; several servers may do so side by side."""

    def __init__(self, db: Database, settings: Settings, rules: Rules, channels: Channels) -> None:
        self._rules = rules
        self._channels = channels
        self._flows: Flows = {"send": SendFlow(settings, rules), "spawn": SpawnFlow(settings, rules)}
        self._steps = StepDuty(
            db, store.STEPS, self._advance, items_max=limits.EXCHANGES_AT_A_TIME,
            retry_seconds=limits.EXCHANGE_BROKEN_SECONDS,
        )  # fmt: skip
        self._posts = _ChannelPosts(db, channels, self._flows)

    async def round(self) -> float:
        """Advance what is due now; return how long to wait then, 0 if there may be more."""
        return await self._steps.round()

    async def serve(self) -> None:
        """Advance whatever is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._steps.serve())
            group.create_task(self._posts.serve())

    def _advance(self, tx: Tx, item: Exchange) -> None:
        """Take one step of an exchange whose run has ended or whose time has come."""
        exchange = lock(tx, item)
        if exchange is None or exchange.state != "open" or exchange.due_at is None or exchange.due_at > tx.now:
            return
        run = run_by_id(tx, exchange.access, exchange.current_run_id) if exchange.current_run_id else None
        exchange = self._flows[exchange.kind].advance(tx, exchange, run)
        if exchange.step == "carry" and exchange.state == "open":
            exchange = self._check_channel(tx, exchange)
        _save(tx, self._flows, exchange)

    def _check_channel(self, tx: Tx, exchange: Exchange) -> Exchange:
        """Conclude a result that needs no post, because its channel shows what is stored, or that may not be posted."""
        lane = lock_lane(tx, exchange.access, str(exchange.announced_in))
        channel = None if lane is None else channel_of(lane)
        if lane is None or channel not in self._channels:
            return delivered(tx, exchange)
        try:
            require_sending(self._rules.send_policy, exchange.announced_in, channel_of(lane), lane.send_policy)
        except Refusal as refusal:
            return conclude(tx, exchange, "undelivered", refusal.message)
        return exchange


class _ChannelPosts(LeasedDuty[Exchange]):
    """Posts results on channels and records the outcome."""

    name = "announcements"
    bell = store.EXCHANGES
    items_max = limits.POSTS_AT_A_TIME
    next_due = staticmethod(store.POSTS.next_due)

    def __init__(self, db: Database, channels: Channels, flows: Flows) -> None:
        super().__init__(db)
        self._channels = channels
        self._flows = flows

    def take(self, tx: Tx, limit: int) -> list[Exchange]:
        """Lease results that are to be posted now."""
        locked = [lock(tx, seen) for seen in store.POSTS.take(tx, limit)]
        due = [
            one for one in locked if one is not None and one.state == "open" and (one.due_at or tx.now + 1) <= tx.now
        ]
        taken = [moved(exchange, due_at=tx.now + limits.POST_LEASE_SECONDS * MS_PER_SECOND) for exchange in due]
        for exchange in taken:
            store.keep_exchange(tx, exchange.access, exchange)
        return taken

    async def do(self, item: Exchange) -> None:
        """Post one result on its channel and record the outcome."""
        fault: str | None = None
        try:
            message = await self.db.read(lambda tx: _message(tx, item))
            if message is not None and message.channel in self._channels:
                async with asyncio.timeout(limits.POST_SECONDS_MAX):
                    await self._channels[message.channel].post(message)
        except Exception as error:  # boundary: a failing channel must not affect the others
            fault = f"{type(error).__name__}: {error}"
            _log.warning("post_failed", extra={"run_id": item.first_run_id, "error": fault})
        with suppress(Refusal):
            # If the store is unavailable, the post is repeated when its lease runs out.
            await self.db.write(partial(self._record, taken=item, fault=fault))

    def _record(self, tx: Tx, taken: Exchange, fault: str | None) -> None:
        exchange = lock(tx, taken)
        if exchange is None or exchange.state != "open" or exchange.due_at != taken.due_at:
            # Another server has leased it since.
            return
        after = delivered(tx, exchange) if fault is None else retry_or_give_up(tx, exchange, fault)
        _save(tx, self._flows, after)


def _save(tx: Tx, flows: Flows, exchange: Exchange) -> None:
    """Write an exchange, and clean up if it is no longer open."""
    store.keep_exchange(tx, exchange.access, exchange)
    if exchange.state != "open":
        flows[exchange.kind].clean_up(tx, exchange)


def _message(tx: Tx, exchange: Exchange) -> ChannelMessage | None:
    """Return the message to post; None when the lane no longer exists."""
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


def lock(tx: Tx, seen: Exchange) -> Exchange | None:
    """Lock an exchange and both its lanes, lanes first and in order as everywhere; return its current state."""
    for key in sorted({seen.requester_key, seen.target_key}):
        lock_lane(tx, seen.access, key)
    return store.hold_exchange(tx, seen.access, seen.id)


def redeliver(tx: Tx, access: Access, run: Run) -> Exchange:
    """Deliver the result of a run again, from the step at which it was given up."""
    seen = store.exchange_after(tx, access, run.id)
    exchange = None if seen is None else lock(tx, seen)
    if exchange is None or exchange.state != "undelivered":
        state = "it has no result to deliver" if exchange is None else f"its result is {exchange.state}"
        raise Refusal(Code.CONFLICT, f"This run has no undelivered result: {state}.")
    if exchange.kind == "spawn":
        # A deleted requester's lane is created again: a person asks for the result now.
        make_lane(tx, access, exchange.requester)
    # A failed announcement is written anew; an existing one is posted as it is.
    current_run_id = None if exchange.step == "announce" else exchange.current_run_id
    opened = moved(exchange, state="open", current_run_id=current_run_id, error=None, ended_at=None, due_at=tx.now)
    again = reset_attempts(tx, opened)
    store.keep_exchange(tx, access, again)
    return again


def observe_runs(db: Database) -> None:
    """Register the observers of runs."""
    db.observe(RunChanged, _note_end)
    db.observe(RunRetried, _follow_retry)
    db.observe(LaneStopped, lambda tx, stopped: store.silence_exchanges(tx, stopped.access, stopped.key))


def _note_end(tx: Tx, changed: RunChanged) -> None:
    run = changed.run
    if changed.ended and run.provenance_kind in _KINDS:
        store.note_run_ended(tx, run.access, run.id)


def _follow_retry(tx: Tx, retried: RunRetried) -> None:
    """Begin the same exchange for the retry, so that the requester gets that result too."""
    access, again = retried.run.access, retried.again
    if (known := store.exchange_after(tx, access, retried.run.id)) is not None:
        kept = {name: getattr(known, name) for name in _KEPT}
        exchange = Exchange(
            **kept, id=tx.new_id("exc"), first_run_id=again.id, current_run_id=again.id, created_at=tx.now
        )  # fmt: skip
        store.begin_exchange(tx, access, exchange)

"""Followers: rooms that react to the feed, exactly once for each event, even after crashes.

The cursor of a follower is stored, and moves in the transaction of its effects. One process works on a follower of an
account at a time; if it dies, another takes over when its lease expires.
"""

from typing import Generic, TypeVar

from carrel.journal import follower_store
from carrel.journal.follower_store import Position
from carrel.journal.model import Event
from carrel.journal.store import events_after
from carrel.kernel import MS_PER_SECOND, Access
from carrel.kernel.limits import (
    FOLLOWER_ACCOUNTS_AT_A_TIME,
    FOLLOWER_GATHER_SECONDS,
    FOLLOWER_GATHER_SECONDS_MAX,
    FOLLOWER_LEASE_SECONDS,
    SAFETY_POLL_SECONDS,
    STREAM_PAGE_ROWS,
)
from carrel.storage import FEED, Database, LeasedDuty, Tx

Prepared = TypeVar("Prepared")


class Follower(Generic[Prepared]):
    """What a room does with events: prepare outside of any transaction, then apply in the one that moves the cursor."""

    # Its cursors are stored under this name; a new name starts over.
    name: str

    @classmethod
    def lag(cls, tx: Tx, access: Access) -> tuple[int, int | None]:
        """Return how many events of an account it has not handled, and the age of the oldest."""
        return follower_store.oldest_unhandled(tx, access, cls.name)

    async def prepare(self, access: Access, events: list[Event]) -> Prepared:
        """Prepare what is slow or must be awaited, such as embeddings. It may be called again after a crash."""
        raise AssertionError("each follower says what it prepares")

    def apply(self, tx: Tx, access: Access, events: list[Event], prepared: Prepared) -> None:
        """Write the effects of these events; called in the transaction that moves the cursor past them."""
        raise AssertionError("each follower says what it does")


class _LeaseLost(Exception):
    """Another process is working on this follower now, so nothing is written."""


class FollowerDuty(LeasedDuty[Position], Generic[Prepared]):
    """Keeps one follower up to date with the feed, in every account."""

    bell = FEED
    items_max = FOLLOWER_ACCOUNTS_AT_A_TIME
    # A turn writes several events within a moment; they are handled as one page.
    gather_seconds = FOLLOWER_GATHER_SECONDS
    gather_seconds_max = FOLLOWER_GATHER_SECONDS_MAX

    def __init__(self, db: Database, follower: Follower[Prepared], worker: str) -> None:
        # Its report has this name.
        self.name = follower.name
        super().__init__(db)
        self._follower = follower
        self._worker = worker
        # The only server of a store need not store its leases: it keeps here until when it holds which account.
        self._is_alone = db.engine == "sqlite"
        self._taken: dict[str, int] = {}
        # What the last look found; and leased accounts, with the end of each lease.
        self._found: list[Position] = []
        self._found_until = 0

    def release(self, tx: Tx) -> object:
        return follower_store.release_positions(tx, self.name)

    def next_due(self, tx: Tx) -> int | None:
        """At once if any account has events that are not being handled."""
        self._found, self._found_until = self._behind(tx, self.items_max), _lease(tx)
        return tx.now if self._found else None

    async def _take(self, limit: int) -> tuple[list[Position], float]:
        if not self._is_alone:
            return await super()._take(limit)
        taken = self._found[:limit]
        self._taken |= {position.account_id: self._found_until for position in taken}
        return taken, SAFETY_POLL_SECONDS

    def _behind(self, tx: Tx, limit: int) -> list[Position]:
        """Positions that are behind and that no process has leased."""
        self._taken = {account: until for account, until in self._taken.items() if until > tx.now}
        taken = self._taken.keys() | {position.account_id for position in self.busy}
        behind = follower_store.positions_behind(tx, self.name, self._worker, limit + len(taken))
        return [position for position in behind if position.account_id not in taken][:limit]

    def take(self, tx: Tx, limit: int) -> list[Position]:
        until = _lease(tx)
        behind = [each.access for each in self._found[:limit]]
        taken = [follower_store.take_position(tx, access, self.name, self._worker, until) for access in behind]
        return [position for position in taken if position is not None]

    async def do(self, item: Position) -> None:
        """Handle the events of one account, page by page, until it is up to date or the lease is lost."""
        position: Position | None = item
        while position is not None:
            position = await self._handle_page(position)
        # A failed account stays leased for a while, so that it is not retried at once.
        self._taken.pop(item.account_id, None)

    async def _handle_page(self, position: Position) -> Position | None:
        access = position.access
        events = await self.db.long_read(lambda tx: events_after(tx, access, position.cursor, limit=STREAM_PAGE_ROWS))
        prepared = await self._follower.prepare(access, events)
        try:
            return await self.db.write(lambda tx: self._advance(tx, position, events, prepared))
        except _LeaseLost:
            return None

    def _advance(self, tx: Tx, position: Position, events: list[Event], prepared: Prepared) -> Position | None:
        """Move past a page and write its effects; return the position while there may be more."""
        access, is_last = position.access, len(events) < STREAM_PAGE_ROWS
        cursor = events[-1].seq if events else position.cursor
        # The cursor first: it fences everything that follows.
        if self._is_alone:
            is_ours = follower_store.move_position(tx, access, position, cursor)
        else:
            until = None if is_last else _lease(tx)
            is_ours = follower_store.advance_position(tx, access, position, cursor, until)
        if not is_ours:
            raise _LeaseLost
        if events:
            self._follower.apply(tx, access, events, prepared)
        return None if is_last else Position(position.account_id, position.name, cursor, position.worker)


def _lease(tx: Tx) -> int:
    return tx.now + FOLLOWER_LEASE_SECONDS * MS_PER_SECOND

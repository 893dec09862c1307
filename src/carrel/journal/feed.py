"""Following the feed: from a cursor, in order, without a gap, for as long as the follower likes."""

from collections.abc import AsyncIterator
from typing import Literal
from weakref import WeakKeyDictionary

from msgspec import Struct

from carrel.journal import store
from carrel.journal.model import Event
from carrel.kernel import Access, elapsed_seconds
from carrel.kernel.limits import SAFETY_POLL_SECONDS, STREAM_PAGE_ROWS, UNSETTLED_POLL_SECONDS
from carrel.storage import FEED, Database, Tx


class Begin(Struct, frozen=True):
    """Where a follower begins: behind `after`; `reset` says why its own cursor could not be used."""

    after: int
    newest: int
    reset: Literal["ahead", "pruned", "overflow"] | None = None


def begin(tx: Tx, access: Access, cursor: int | None) -> Begin:
    """The beginning for a cursor; None means from now on."""
    newest = store.newest_event(tx, access)
    if cursor is None:
        return Begin(newest, newest)
    # Another server may have seen further than this one yet: only what was never written is ahead.
    if cursor > newest and not store.any_event_after(tx, access, cursor - 1):
        return Begin(newest, newest, "ahead")
    if cursor < store.pruned_event(tx, access):
        return Begin(newest, newest, "pruned")
    return Begin(cursor, newest)


async def pages(db: Database, access: Access, after: int, *, wait_seconds: float) -> AsyncIterator[list[Event]]:
    """Pages of events behind `after`, for ever; an empty page says that `wait_seconds` passed without one."""
    bell = db.bell(FEED)
    told = elapsed_seconds()
    while True:
        version = bell.version
        page, unsettled = await _page(db, access, after)
        left = told + wait_seconds - elapsed_seconds()
        if page or left <= 0:
            after = page[-1].seq if page else after
            yield page
            told = elapsed_seconds()
            continue
        # What holds an event back may end without a sound: a write that tells nothing, or another server's.
        await bell.wait(version, min(UNSETTLED_POLL_SECONDS if unsettled else SAFETY_POLL_SECONDS, left))


# The page read last, by store and account: followers stand at the same place mostly, and one of them reads for all.
_read_last: WeakKeyDictionary[Database, dict[str, tuple[int, list[Event]]]] = WeakKeyDictionary()


async def _page(db: Database, access: Access, after: int) -> tuple[list[Event], bool]:
    """The events behind `after`; and when there are none to be shown, whether one is there that must wait."""
    last = _read_last.setdefault(db, {})
    known = last.get(access.account_id)
    if known is not None and known[0] == after:
        return known[1], False
    page, unsettled = await db.read(lambda tx: _look(tx, access, after))
    if page:
        # An empty page says nothing of a moment later; behind a number nothing ever comes between what was seen there.
        last[access.account_id] = (after, page)
    return page, unsettled


def _look(tx: Tx, access: Access, after: int) -> tuple[list[Event], bool]:
    page = store.events_after(tx, access, after, limit=STREAM_PAGE_ROWS)
    return page, not page and store.any_event_after(tx, access, after)

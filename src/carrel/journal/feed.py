"""Following the feed from a cursor: in order, without gaps."""

from collections.abc import AsyncIterator
from typing import Literal
from weakref import WeakKeyDictionary

from msgspec import Struct

from carrel.journal import store
from carrel.journal.model import Event
from carrel.kernel import Access, elapsed_seconds
from carrel.kernel.limits import SAFETY_POLL_SECONDS, STREAM_PAGE_ROWS, UNSETTLED_POLL_SECONDS
from carrel.storage import FEED, Database, Tx


class FeedStart(Struct, frozen=True):
    """Where a follower starts: after `after`; `reset` says why its own cursor could not be used."""

    after: int
    newest: int
    reset: Literal["ahead", "pruned", "overflow"] | None = None


def feed_start(tx: Tx, access: Access, cursor: int | None) -> FeedStart:
    """Return where to start for a cursor; None means from now on."""
    newest = store.newest_event(tx, access)
    if cursor is None:
        return FeedStart(newest, newest)
    # The cursor may come from a server that has seen more; it is invalid only if no such event was written.
    if cursor > newest and not store.any_event_after(tx, access, cursor - 1):
        return FeedStart(newest, newest, "ahead")
    if cursor < store.pruned_event(tx, access):
        return FeedStart(newest, newest, "pruned")
    return FeedStart(cursor, newest)


async def feed_pages(db: Database, access: Access, after: int, *, wait_seconds: float) -> AsyncIterator[list[Event]]:
    """Yield pages of events after `after`, forever; an empty page means that `wait_seconds` passed without one."""
    bell = db.bell(FEED)
    yielded_at = elapsed_seconds()
    while True:
        version = bell.version
        page, unsettled = await _page(db, access, after)
        left = yielded_at + wait_seconds - elapsed_seconds()
        if page or left <= 0:
            after = page[-1].seq if page else after
            yield page
            yielded_at = elapsed_seconds()
            continue
        # No bell rings when the transaction that holds an event back ends without events, or on another server.
        await bell.wait(version, min(UNSETTLED_POLL_SECONDS if unsettled else SAFETY_POLL_SECONDS, left))


# The last page read, by database and account: most followers are at the same cursor, so one read serves all.
_last_pages: WeakKeyDictionary[Database, dict[str, tuple[int, list[Event]]]] = WeakKeyDictionary()


async def _page(db: Database, access: Access, after: int) -> tuple[list[Event], bool]:
    """Return the events after `after`; if there are none, also whether one exists that is not settled yet."""
    last = _last_pages.setdefault(db, {})
    known = last.get(access.account_id)
    if known is not None and known[0] == after:
        return known[1], False
    page, unsettled = await db.read(lambda tx: _read_page(tx, access, after))
    if page:
        # Only pages with events are kept: the events after a cursor never change, but an empty page may fill up.
        last[access.account_id] = (after, page)
    return page, unsettled


def _read_page(tx: Tx, access: Access, after: int) -> tuple[list[Event], bool]:
    page = store.events_after(tx, access, after, limit=STREAM_PAGE_ROWS)
    return page, not page and store.any_event_after(tx, access, after)

"""Following the feed: from a cursor, in order, without a gap, for as long as the follower likes."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Literal

from msgspec import Struct

from carrel.journal import store
from carrel.journal.model import Event
from carrel.kernel import Access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, STREAM_PAGE_ROWS
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
    if cursor > newest:
        return Begin(newest, newest, "ahead")
    if cursor < store.pruned_event(tx, access):
        return Begin(newest, newest, "pruned")
    return Begin(cursor, newest)


async def pages(db: Database, access: Access, after: int, *, wait_seconds: float) -> AsyncIterator[list[Event]]:
    """Pages of events behind `after`, for ever; an empty page says that `wait_seconds` passed quietly."""
    bell = db.bell(FEED)
    quiet = 0.0
    while True:
        version = bell.version
        page = await db.read(partial(_page, access=access, after=after))
        if page:
            after = page[-1].seq
            quiet = 0.0
            yield page
            continue
        pause = min(SAFETY_POLL_SECONDS, wait_seconds - quiet)
        await bell.wait(version, pause)
        quiet = quiet + pause if bell.version == version else 0.0
        if quiet >= wait_seconds:
            quiet = 0.0
            yield []


def _page(tx: Tx, *, access: Access, after: int) -> list[Event]:
    return store.events_after(tx, access, after, limit=STREAM_PAGE_ROWS)

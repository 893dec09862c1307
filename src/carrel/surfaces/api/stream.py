"""The feed as server-sent events, from a cursor on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import lru_cache, partial

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from carrel.journal import Event, EventFilter, FeedStart, events_after, feed_pages, feed_start
from carrel.kernel import METRICS, Access, elapsed_seconds, invalid
from carrel.kernel.limits import STREAM_EVENT_NAMES_MAX, STREAM_PAGE_ROWS, STREAM_PING_SECONDS
from carrel.sessions import find_lane
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, endpoint
from carrel.surfaces.api.scope import Scoped, names_in, scope_of
from carrel.surfaces.http.identity import identify, require_known
from carrel.surfaces.http.revocation import until_revoked
from carrel.surfaces.http.streaming import PING, FrameStream, seen_event
from carrel.tools import with_view
from carrel.visibility import visible_events

# Events contain entries, so the tool for entries decides.
_TOOL = "clawboard_get_log"


class StreamQuery(Scoped, frozen=True, kw_only=True):
    """Which events, and after which one."""

    session_id: str | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    topic_id: str | UnsetType = UNSET
    events: str = ""
    last_event_id: str | UnsetType = UNSET


@endpoint("GET", "/api/stream", answers={200: str}, media="text/event-stream", tool=_TOOL)
async def follow(call: Call[None, StreamQuery]) -> Response:
    """Stream events as they happen; with a cursor, missed events come first."""
    cursor = _last_event_id(call)
    matches = await call.read(lambda tx, access: _filter(tx, access, call.query))
    client = _Client(call, matches, await call.read(lambda tx, access: feed_start(tx, access, cursor)))
    revoked = partial(until_revoked, call.services, call.access, client.identify)
    return FrameStream(client.frames(), closing=call.services.closing, until_revoked=revoked)


def _last_event_id(call: Call[None, StreamQuery]) -> int | None:
    """Return the number of the last event the client received; the header wins, as browsers send it themselves."""
    text = call.request.headers.get("last-event-id") or (call.query.last_event_id or "")
    if not text:
        return None
    seen = seen_event(text)
    if seen is None:
        raise invalid("lastEventId", "lastEventId must be the number of an event.")
    return seen


def _filter(tx: Tx, access: Access, query: StreamQuery) -> Callable[[Event], bool]:
    key = chat = None
    # Read again for every page; read here to refuse wrong spaces before the stream begins.
    scope_of(tx, access, query)
    if query.session_key:
        key = find_lane(tx, access, query.session_key)[0].key
    if query.session_id:
        if query.session_id.startswith(("ses_", "agent:")):
            key = find_lane(tx, access, query.session_id)[0].key
        else:
            chat = query.session_id
    names = names_in("events", query.events, STREAM_EVENT_NAMES_MAX)
    return EventFilter(
        key=key, conversation=chat, task_id=query.task_id or None, topic_id=query.topic_id or None, names=names
    ).matches


class _Client(Struct, frozen=True):
    """One client of the feed: what it is sent, and whether it may still receive it."""

    call: Call[None, StreamQuery]
    matches: Callable[[Event], bool]
    start: FeedStart

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield missed events first, then new ones as they happen, and pings in between."""
        start = self.start
        yield _frame("stream.ready", {"seq": start.newest})
        after, reason = start.after, start.reset
        if reason is None and after < start.newest and await self._missed_too_many():
            after, reason = start.newest, "overflow"
        if reason is not None:
            METRICS.count("events.reset.count", self.call.access.account_id, reason=reason)
            yield _frame("stream.reset", {"reason": reason, "seq": start.newest})
        sent_at = elapsed_seconds()
        async for page in feed_pages(self.call.services.db, self.call.access, after, wait_seconds=STREAM_PING_SECONDS):
            for event in await self._visible(page):
                yield _event_frame(event)
                sent_at = elapsed_seconds()
            if elapsed_seconds() - sent_at >= STREAM_PING_SECONDS:
                yield PING
                sent_at = elapsed_seconds()

    async def _missed_too_many(self) -> bool:
        """Return whether more events were missed, after the filters, than are replayed."""
        left, after = self.call.services.settings.events.replay_max, self.start.after
        while after < self.start.newest:
            page = await self.call.read(partial(events_after, after=after, limit=STREAM_PAGE_ROWS))
            if not page:
                return False
            left -= sum(event.seq <= self.start.newest for event in await self._visible(page))
            if left < 0:
                return True
            after = page[-1].seq
            # Reading never waits, so give other tasks a turn between pages.
            await asyncio.sleep(0)
        return False

    async def _visible(self, page: list[Event]) -> list[Event]:
        """Return the events of a page that the client wants and may see now."""
        wanted = list(filter(self.matches, page))
        return await self.call.read(partial(self._seen, events=wanted)) if wanted else []

    def _seen(self, tx: Tx, access: Access, events: list[Event]) -> list[Event]:
        access = with_view(tx, self.call.services.tool_services, access)
        return visible_events(tx, access, events, scope_of(tx, access, self.call.query).allowed)

    async def identify(self) -> Access:
        """Return the caller as it is now; Refusal once it may receive no more."""
        request, services = self.call.request, self.call.services
        access = require_known(await identify(request, services, request.app.state.wrong_tokens))
        # The rules for the agent's tools may have changed.
        await services.db.read(lambda tx: with_view(tx, services.tool_services, access, tool=_TOOL))
        return access


# Many clients are sent the same event within moments; few are cached, as a body may be large.
@lru_cache(maxsize=32)
def _event_frame(event: Event) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.name.encode(), event.wire())


def _frame(name: str, body: dict[str, object]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(body))

"""The stream: the feed as server-sent events, from a cursor, for as long as somebody listens."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import lru_cache, partial
from logging import getLogger

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from carrel.journal import Begin, Event, EventFilter, begin, events_after, pages
from carrel.kernel import METRICS, Access, Code, Refusal, elapsed_seconds, invalid
from carrel.kernel.limits import STREAM_END_SECONDS_MAX, STREAM_PAGE_ROWS, STREAM_PING_SECONDS, STREAM_SEND_SECONDS_MAX
from carrel.sessions import find_lane
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Ask, In, endpoint
from carrel.surfaces.api.identity import identify
from carrel.surfaces.house import House

_log = getLogger("carrel.api")
PING = b": ping\n\n"
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_CURSOR_MAX = 1 << 62


class StreamQuery(In, frozen=True, kw_only=True):
    """Which events, and behind which one."""

    session_id: str | UnsetType = UNSET
    session_key: str | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    topic_id: str | UnsetType = UNSET
    space_id: str | UnsetType = UNSET
    allowed_space_ids: str | UnsetType = UNSET
    events: str = ""
    last_event_id: str | UnsetType = UNSET


@endpoint("GET", "/api/stream", answers={200: str}, query=StreamQuery, media="text/event-stream")
async def follow(ask: Ask[None, StreamQuery]) -> Response:
    """What happens, as it happens; a cursor brings what was missed first."""
    cursor = read_cursor(ask)
    wanted = await ask.read(lambda tx, access: _filter(tx, access, ask.query))
    start = await ask.read(lambda tx, access: begin(tx, access, cursor))
    return EventStream(ask, wanted, start)


def read_cursor(ask: Ask[None, StreamQuery]) -> int | None:
    """The number of the last event the follower has seen; the header wins, as browsers send it on their own."""
    text = ask.request.headers.get("last-event-id") or (ask.query.last_event_id or "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or int(text) > _CURSOR_MAX:
        raise invalid("lastEventId", "The last event's id is the number of an event.")
    return int(text)


def _filter(tx: Tx, access: Access, query: StreamQuery) -> "Wanted":
    key = chat = None
    if query.session_key:
        key = find_lane(tx, access, query.session_key)[0].key
    if query.session_id:
        if query.session_id.startswith(("ses_", "agent:")):
            key = find_lane(tx, access, query.session_id)[0].key
        else:
            chat = query.session_id
    return Wanted(
        EventFilter(
            key=key,
            conversation=chat,
            task_id=query.task_id or None,
            agent_id=access.agent_id if access.kind in ("agent", "run") else None,
            names=tuple(name for name in map(str.strip, query.events.split(",")) if name),
        ),
        # Events carry neither a topic nor a space so far: who asks for one alone is told of nothing.
        nothing=bool(query.topic_id) or not in_default_space(query.space_id, query.allowed_space_ids),
    )


def in_default_space(space_id: str | UnsetType, allowed_space_ids: str | UnsetType) -> bool:
    """True unless the asker names spaces and the default one, where everything lies so far, is not among them."""
    named = {space_id} if space_id else set()
    named |= {name.strip() for name in (allowed_space_ids or "").split(",") if name.strip()}
    return not named or "space-default" in named


class Wanted:
    """Which events a follower is sent."""

    def __init__(self, only: EventFilter, *, nothing: bool) -> None:
        self._only = only
        self._nothing = nothing

    def __call__(self, event: Event) -> bool:
        return not self._nothing and self._only.wants(event)


class EventStream(Response):
    """An answer that goes on until the follower leaves, does not keep up, loses its token, or the server stops."""

    def __init__(self, ask: Ask[None, StreamQuery], wanted: Wanted, start: Begin) -> None:
        super().__init__(status_code=200, headers=_HEADERS)
        del self.headers["content-length"]
        self._house: House = ask.house
        self._access = ask.access
        self._request = ask.request
        self._wanted = wanted
        self._start = start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            kept_up = await self._until_the_end(receive, send)
            if not kept_up:
                # Not finished in form: a reader that does not read is cut off and comes back with its last id.
                return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STREAM_END_SECONDS_MAX):
                await send({"type": "http.response.body", "body": b""})

    async def _until_the_end(self, receive: Receive, send: Send) -> bool:
        """Send until something ends it; False when it was that the reader does not keep up."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send_all(send))
            ends = {sending, group.create_task(_gone(receive)), group.create_task(self._house.closing.wait())}
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends - done:
                end.cancel()
        return sending.cancelled() or sending.result()

    async def _send_all(self, send: Send) -> bool:
        """Send frames until no more can follow; False when the reader must come back for the rest."""
        try:
            return await self._send_frames(send)
        except Refusal as refusal:
            # Only a store that is away refuses here; whoever comes back with the last id misses nothing.
            _log.warning("stream_broken_off", extra={"error_code": refusal.code, "reason": refusal.message})
            return False

    async def _send_frames(self, send: Send) -> bool:
        """Send frames as long as they are wanted and allowed; False when the reader does not take them."""
        seen = elapsed_seconds()
        async for frame in self._frames():
            try:
                async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            except TimeoutError:
                return False
            if elapsed_seconds() - seen >= STREAM_PING_SECONDS:
                seen = elapsed_seconds()
                if not await self._still_allowed():
                    return True
        return True

    async def _frames(self) -> AsyncIterator[bytes]:
        start = self._start
        yield _frame("stream.ready", {"seq": start.newest})
        after, reason = start.after, start.reset
        if reason is None and after < start.newest and await self._missed_too_many():
            after, reason = start.newest, "overflow"
        if reason is not None:
            METRICS.count("events.reset.count", reason=reason)
            yield _frame("stream.reset", {"reason": reason, "seq": start.newest})
        told = elapsed_seconds()
        async for page in pages(self._house.db, self._access, after, wait_seconds=STREAM_PING_SECONDS):
            for event in filter(self._wanted, page):
                yield _event_frame(event)
                told = elapsed_seconds()
            if elapsed_seconds() - told >= STREAM_PING_SECONDS:
                yield PING
                told = elapsed_seconds()

    async def _missed_too_many(self) -> bool:
        """True when more events were missed, after the filters, than are sent after the fact."""
        left, after = self._house.settings.events.replay_max, self._start.after
        while after < self._start.newest:
            page = await self._house.db.read(partial(_page, access=self._access, after=after))
            if not page:
                return False
            left -= sum(event.seq <= self._start.newest and self._wanted(event) for event in page)
            if left < 0:
                return True
            after = page[-1].seq
            # Reading never waits, so others get their turn between two pages.
            await asyncio.sleep(0)
        return False

    async def _still_allowed(self) -> bool:
        """Look again who asks: a token that was revoked meanwhile hears no more."""
        try:
            return await identify(self._request, self._house, self._request.app.state.wrong_tokens) is not None
        except Refusal as refusal:
            if refusal.code is Code.STORAGE_UNAVAILABLE:
                raise
            return False


def _page(tx: Tx, *, access: Access, after: int) -> list[Event]:
    return events_after(tx, access, after, limit=STREAM_PAGE_ROWS)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# Many followers are sent the same event within moments; few are kept, for a body may be large.
@lru_cache(maxsize=32)
def _event_frame(event: Event) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.name.encode(), event.wire())


def _frame(name: str, body: dict[str, object]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(body))

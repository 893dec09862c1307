"""The client for programs that use asyncio: the same operations as `Client`, awaited.

What it needs is loaded with its first request, so that importing it is cheap.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from carrel.bridge.api.api import Api
from carrel.bridge.api.feed import FEED_PATH, SILENCE_SECONDS, Follow, Resumption, feed_query, read_event
from carrel.bridge.api.operations import Awaiting
from carrel.bridge.api.requests import ANSWER_BYTES_MAX, CONNECT_SECONDS, LINE_BYTES_MAX, Query, Request
from carrel.bridge.api.shapes import Event
from carrel.bridge.faults import BridgeFault, NotReachable, TimedOut
from carrel.bridge.live import AsyncLive, opened_async_socket
from carrel.bridge.stream import EventReader, StreamEvent

if TYPE_CHECKING:
    import httpx


class AsyncClient(Api[Awaiting], Awaiting):
    """Calls one server with one token; any number of requests may be under way at the same time."""

    def __init__(self, url: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        super().__init__(url, token, timeout_seconds=timeout_seconds)
        self._opened: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def driver(self) -> Awaiting:
        """The client itself."""
        return self

    async def close(self) -> None:
        """Close the connections; the next request opens others."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.aclose()

    async def events(
        self, *, after: int | None = None, session_key: str | None = None, task_id: str | None = None,
        topic_id: str | None = None, names: Iterable[str] = (), idle_seconds: float | None = None,
    ) -> AsyncGenerator[Event, None]:  # fmt: skip
        """Yield the events of the feed after a number, and then new ones; see `Client.events`."""
        query = feed_query(session_key, task_id, topic_id, names)
        last = "" if after is None else str(after)
        # Closed with this iterator, and its connection with it.
        async with aclosing(self.stream(FEED_PATH, query, last_event_id=last, idle_seconds=idle_seconds)) as frames:
            async for frame in frames:
                if event := read_event(frame):
                    yield event

    @asynccontextmanager
    async def listen(self, target: str | None = None) -> AsyncIterator[AsyncLive]:
        """Receive the text of an agent's or a session's replies while it is written; see `AsyncLive.pieces`."""
        async with opened_async_socket(self.address) as socket:
            live = AsyncLive(self, socket)
            await live.bind(target)
            yield live

    async def stream(
        self, path: str, query: Query | None = None, *, last_event_id: str = "", idle_seconds: float | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield events as they arrive; after a lost connection, reconnect and resume; see `Client.stream`."""
        import asyncio

        place = Resumption(last_event_id)
        while True:
            failed: BridgeFault | None = None
            try:
                opened = self._events(path, query, place.last_event_id, idle_seconds or SILENCE_SECONDS)
                async with aclosing(opened) as events:
                    async for event in events:
                        place.seen(event)
                        yield event
            except TimedOut as fault:
                if idle_seconds:
                    return
                failed = fault
            except NotReachable as fault:
                failed = fault
            await asyncio.sleep(place.pause_seconds(self.url, failed))

    async def _events(
        self, path: str, query: Query | None, last_event_id: str, silence_seconds: float
    ) -> AsyncGenerator[StreamEvent, None]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
        reader = EventReader()
        async with self._response("GET", path, query, None, headers, silence_seconds, streams=True) as response:
            if response.status_code != 200:
                self.address.parse(response.status_code, await _content(response))
            async for line in _lines(response):
                if event := reader.add(line):
                    yield event

    async def exchange(self, request: Request) -> Any:
        """Make one request and return what the server said."""
        seconds = request.timeout_seconds or self._timeout_seconds
        async with self._response(
            request.method, request.path, request.query, request.content, request.headers, seconds
        ) as response:
            return self.address.read(request, response.status_code, await _content(response))

    async def follow(self, part: Follow) -> StreamEvent | None:
        """Follow a part of the feed and return the frame that ends it; None when the time is up."""
        import asyncio

        with suppress(TimeoutError):
            async with (
                asyncio.timeout(part.seconds),
                aclosing(self.stream(FEED_PATH, part.query, last_event_id=part.last_event_id)) as frames,
            ):
                async for frame in frames:
                    if part.ends(frame):
                        return frame
        return None

    @asynccontextmanager
    async def _response(
        self, method: str, path: str, query: Query | None, content: bytes | None, headers: dict[str, str],
        seconds: float, *, streams: bool = False,
    ) -> AsyncIterator["httpx.Response"]:  # fmt: skip
        """Yield the response to one request, whose connection is closed if it is not read to its end."""
        import httpx

        # Waiting for a free connection is not the server's fault.
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS), pool=None)
        target = self.address.origin + self.address.target(path, query)
        try:
            async with self._http().stream(
                method, target, content=content, headers=headers, timeout=timeout
            ) as response:  # fmt: skip
                yield response
        except httpx.ConnectTimeout as fault:
            raise self.address.unreachable(fault) from fault
        except httpx.TimeoutException as fault:
            raise (self.address.silent if streams else self.address.late)(seconds) from fault
        except httpx.TransportError as fault:
            raise self.address.unreachable(fault) from fault

    def _http(self) -> "httpx.AsyncClient":
        if self._opened is None:
            import ssl

            import httpx

            # As for `Client`: the certificates of the machine, and no proxy of the environment.
            verify = ssl.create_default_context() if self.address.is_secure else False
            self._opened = httpx.AsyncClient(headers=self.address.headers, verify=verify, trust_env=False)
        return self._opened


async def _content(response: "httpx.Response") -> bytes:
    pieces, size = list[bytes](), 0
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > ANSWER_BYTES_MAX:
            break
    return b"".join(pieces)


async def _lines(response: "httpx.Response") -> AsyncIterator[bytes]:
    """Yield lines as the standard of event streams knows them; httpx knows more kinds of line ends."""
    rest = b""
    async for piece in response.aiter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
        if len(rest) > LINE_BYTES_MAX:
            rest = b""

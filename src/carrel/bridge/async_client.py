"""The client for programs that use asyncio: the same operations as `Client`, awaited.

What it needs is loaded with its first request, so that importing it is cheap.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from carrel.bridge.api.api import Api
from carrel.bridge.api.operations import Awaiting, Socket
from carrel.bridge.api.replies import AsyncLive, listen
from carrel.bridge.api.requests import ANSWER_BYTES_MAX, CONNECT_SECONDS, Address, Request
from carrel.kernel import elapsed_seconds

if TYPE_CHECKING:
    import httpx
    from websockets.asyncio.client import ClientConnection


class AsyncClient(Api["HttpConnections"]):
    """Calls one server with one token; any number of requests may be under way at the same time."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the next request opens others."""
        await self.driver.close()

    @asynccontextmanager
    async def listen(self, target: str | None = None) -> AsyncIterator[AsyncLive]:
        """Receive the text of an agent's or a session's replies while it is written; see `AsyncLive.pieces`."""
        live = await listen(self.driver, target)
        try:
            yield live
        finally:
            await live.close()

    def _open_driver(self, timeout_seconds: float) -> "HttpConnections":
        return HttpConnections(self.address, timeout_seconds)


class HttpConnections(Awaiting):
    """Connections to the server, each request on one of its own."""

    def __init__(self, address: Address, timeout_seconds: float) -> None:
        super().__init__(address, timeout_seconds)
        self._opened: httpx.AsyncClient | None = None

    async def exchange(self, request: Request) -> Any:
        async with self._response(request, request.headers, request.timeout_seconds) as response:
            return self.address.read(request, response.status_code, await _content(response))

    async def pieces(
        self, request: Request, headers: dict[str, str], silence_seconds: float, ends_at: float
    ) -> AsyncGenerator[bytes, None]:
        import asyncio

        async with self._response(request, headers, silence_seconds, streams=True) as response:
            if response.status_code != 200:
                self.address.parse(response.status_code, await _content(response))
            arriving = response.aiter_bytes()
            with suppress(TimeoutError):
                while (left := ends_at - elapsed_seconds()) > 0:
                    async with asyncio.timeout(None if left == math.inf else left):
                        piece = await anext(arriving, b"")
                    if not piece:
                        return
                    yield piece

    async def pause(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    async def open_socket(self, url: str, options: dict[str, Any]) -> Socket:
        from websockets.asyncio.client import connect

        return _Socket(await connect(url, **options))

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.aclose()

    @asynccontextmanager
    async def _response(
        self, request: Request, headers: dict[str, str], timeout_seconds: float | None, *, streams: bool = False
    ) -> AsyncIterator["httpx.Response"]:
        """Yield the response to one request, whose connection is closed if it is not read to its end."""
        import httpx

        seconds = timeout_seconds or self.timeout_seconds
        # Waiting for a free connection is not the server's fault.
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS), pool=None)
        target = self.address.origin + self.address.target(request.path, request.query)
        try:
            async with self._http().stream(
                request.method, target, content=request.content, headers=headers, timeout=timeout
            ) as response:
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


class _Socket:
    def __init__(self, connection: "ClientConnection") -> None:
        self._connection = connection

    async def send(self, text: str) -> None:
        await self._connection.send(text)

    async def receive(self, seconds: float) -> str | bytes:
        import asyncio

        async with asyncio.timeout(seconds):
            return await self._connection.recv()

    async def close(self) -> None:
        await self._connection.close()


async def _content(response: "httpx.Response") -> bytes:
    pieces, size = list[bytes](), 0
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > ANSWER_BYTES_MAX:
            break
    return b"".join(pieces)

"""The HTTP client for the MCP SDK, which has a library of its own: with our limits, and without proxies."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from carrel.wire.model import WireLimits

if TYPE_CHECKING:
    import httpx2


def sdk_client(headers: Mapping[str, str], response_bytes_max: int) -> "httpx2.AsyncClient":
    """Return a client that sends these headers; the SDK itself limits each event of an endless event stream."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._inner:
                size += len(piece)
                if size > response_bytes_max:
                    raise httpx2.ReadError(f"The response is larger than {response_bytes_max} bytes.")
                yield piece

        async def aclose(self) -> None:
            await self._inner.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
                response.stream = Bounded(response.stream)
            return response

    limits = WireLimits()
    return httpx2.AsyncClient(
        headers={"User-Agent": "carrel", "Accept-Encoding": "identity", **headers},
        transport=Transport(limits=httpx2.Limits(max_connections=limits.connections_max), trust_env=False),
        timeout=httpx2.Timeout(None, connect=limits.connect_seconds),
        trust_env=False,
        follow_redirects=False,
    )

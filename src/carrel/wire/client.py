"""The HTTP client: limited in connections, time and size; follows no redirects; reads event streams.

A response of any status is returned; only a request without a usable response raises WireFault. Proxies from the
environment are ignored, because the guard cannot check what a proxy connects to.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx

from carrel.kernel import EventReader, EventTooLarge, ServerEvent
from carrel.wire.guard import Resolver, public_target, resolve_by_system
from carrel.wire.model import Reply, WireFault, WireFaultKind, WireLimits


class StreamedReply:
    """A response whose body is still arriving; call `events` or `read`, once."""

    def __init__(self, response: httpx.Response, pieces: AsyncIterator[bytes], limits: WireLimits) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        connection = response.extensions.get("network_stream")
        server = connection.get_extra_info("server_addr") if connection else None
        # The IP address that answered, which a later DNS lookup may not find again; empty if unknown.
        self.address = str(server[0]) if server else ""
        self._pieces = pieces
        self._limits = limits

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self._pieces])

    async def events(self) -> AsyncGenerator[ServerEvent, None]:
        reader = EventReader(self._limits.event_bytes_max)
        async for piece in self._pieces:
            try:
                events = reader.feed(piece)
            except EventTooLarge as error:
                raise WireFault(WireFaultKind.TOO_LARGE, str(error)) from None
            for event in events:
                yield event
        for event in reader.close():
            yield event

    async def drain(self) -> None:
        """Give a finished stream a moment to end by itself; to its server, closing early looks like a cancellation."""
        with suppress(TimeoutError, WireFault):
            async with asyncio.timeout(self._limits.drain_seconds):
                async for _ in self._pieces:
                    pass


class Wire:
    """Sends requests within `limits`; one instance serves the whole process."""

    def __init__(self, limits: WireLimits | None = None, resolve: Resolver = resolve_by_system) -> None:
        self._limits = limits or WireLimits()
        self._resolve = resolve
        self._client = httpx.AsyncClient(
            # One connection per request: some servers silently close theirs after a stream, which would lose the next
            # request on it, and the certificate of a guarded connection was checked for one name only.
            limits=httpx.Limits(max_connections=self._limits.connections_max, max_keepalive_connections=0),
            timeout=httpx.Timeout(None, connect=self._limits.connect_seconds),
            headers={"User-Agent": "carrel", "Accept-Encoding": "identity", "Connection": "close"},
            # Certificates from SSL_CERT_FILE are honoured; proxies and .netrc are not.
            verify=httpx.create_ssl_context(),
            trust_env=False,
            follow_redirects=False,
        )

    async def request(
        self, method: str, url: str, *, timeout_seconds: float, headers: Mapping[str, str] | None = None,
        body: bytes = b"", public_only: bool = False,
    ) -> Reply:  # fmt: skip
        """Send a request and return the whole response; `public_only` refuses addresses that are not public."""
        async with self.stream(
            method, url, headers=headers, body=body, timeout_seconds=timeout_seconds, public_only=public_only
        ) as reply:
            body = await reply.read()
            return Reply(status=reply.status, headers=reply.headers, body=body, address=reply.address)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, *, timeout_seconds: float, headers: Mapping[str, str] | None = None,
        body: bytes = b"", public_only: bool = False,
    ) -> AsyncIterator[StreamedReply]:  # fmt: skip
        """Send a request and read its response while it arrives; leaving early closes the connection at once.

        `timeout_seconds` covers everything from resolving the host to the end of the `async with` block.
        """
        where = _origin(url)
        bound = asyncio.timeout(timeout_seconds)
        try:
            async with bound:
                response = await self._send(method, url, headers or {}, body, public_only)
                async with aclosing(response), aclosing(_bounded(response, self._limits, where)) as pieces:
                    yield StreamedReply(response, pieces, self._limits)
        except TimeoutError:
            # A time-out that the caller set inside the block is not ours.
            if not bound.expired():
                raise
            message = f"{where} did not finish its response within {timeout_seconds:g} seconds."
            raise WireFault(WireFaultKind.TIMEOUT, message) from None

    async def close(self) -> None:
        """Close every connection; pending requests fail."""
        await self._client.aclose()

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, public_only: bool
    ) -> httpx.Response:
        try:
            if public_only:
                request = await self._pinned(method, url, headers, body)
            else:
                request = self._client.build_request(method, url, headers=headers, content=body)
            return await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _fault(error, _origin(url)) from None

    async def _pinned(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> httpx.Request:
        target = await public_target(url, self._resolve)
        return self._client.build_request(
            method,
            httpx.URL(url).copy_with(host=target.address),
            headers={**headers, "Host": target.host_header},
            content=body,
            # The certificate is checked against the name although the connection goes to the IP address.
            extensions={"sni_hostname": target.host},
        )


async def _bounded(response: httpx.Response, limits: WireLimits, where: str) -> AsyncGenerator[bytes, None]:
    size = 0
    bytes_max = limits.response_bytes_max
    try:
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > bytes_max:
                raise WireFault(WireFaultKind.TOO_LARGE, f"The response of {where} is larger than {bytes_max} bytes.")
            yield piece
    except httpx.HTTPError as error:
        raise _fault(error, where) from None


def _fault(error: Exception, where: str) -> WireFault:
    """Describe an error in our own words: the library's message may quote a header, and with it a key."""
    match error:
        case httpx.ConnectTimeout():
            return WireFault(WireFaultKind.CONNECT, f"{where} did not accept a connection in time.")
        case httpx.TimeoutException():
            return WireFault(WireFaultKind.TIMEOUT, f"{where} did not answer in time.")
        case httpx.ConnectError():
            untrusted = ", or its certificate is not trusted" if "https:" in where else ""
            return WireFault(WireFaultKind.CONNECT, f"Could not connect to {where}: nothing answers there{untrusted}.")
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL() | UnicodeError():
            return WireFault(WireFaultKind.INVALID, f"The request to {where} has an invalid URL or header.")
        case _:
            return WireFault(WireFaultKind.BROKEN, f"The connection to {where} broke before the response was complete.")


def _origin(url: str) -> str:
    """Return scheme, host and port of a URL, which are safe to show."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "an unnamed host"
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid URL"
    return f"{parts.scheme}://[{host}]{port}" if ":" in host else f"{parts.scheme}://{host}{port}"

"""A proxy that requests the 0.3 card for a kit that does not say which version it expects.

Everything else passes through byte for byte. Each connection carries one request, and the server closes it.
"""

import asyncio
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

CARD = b"/.well-known/"
WAIT_SECONDS = 10.0
_PIECE_BYTES = 65536


class VersionProxy:
    """A context manager that listens on its own port in its own thread; `url` is its full address."""

    def __init__(self, server_url: str) -> None:
        address = urlsplit(server_url)
        assert address.hostname is not None
        assert address.port is not None
        self._upstream = address.hostname, address.port
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="version-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(WAIT_SECONDS)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(WAIT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_SECONDS)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._upstream)
            upstream_writer.write(changed(head))
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(_pass(reader, upstream_writer))
                await _pass(upstream_reader, writer)
                sending.cancel()
            upstream_writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


def changed(head: bytes) -> bytes:
    """Return the head of a request with `Connection: close`, and with a version if it is for a card."""
    first, *lines = head[:-4].split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    version = [b"A2A-Version: 0.3"] if CARD in first else []
    return b"\r\n".join([first, *kept, *version, b"Connection: close", b"", b""])


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        writer.write(piece)
        await writer.drain()


async def _cancel_all() -> None:
    others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)

"""A client of the event stream, for tests: frames as they arrive, every wait bounded."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx

WAIT_SECONDS_MAX = 15.0


class Frame(NamedTuple):
    """One event as it came over the wire."""

    id: int | None
    name: str
    body: dict[str, Any]


class Follower:
    """Reads frames off one open stream."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> Frame:
        """The next frame; comments are passed over."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            async for line in self._lines:
                if not line:
                    if fields:
                        return Frame(
                            int(fields["id"]) if "id" in fields else None, fields["event"], json.loads(fields["data"])
                        )
                    continue
                name, _, value = line.partition(": ")
                if name:
                    fields[name] = value
        raise EOFError

    async def lines_before_ping(self) -> list[str]:
        """What comes before the next ping."""
        found: list[str] = []
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            async for line in self._lines:
                if line == ": ping":
                    return found
                found += [line] if line else []
        raise EOFError

    async def until(self, name: str) -> list[Frame]:
        """Every frame up to the first of that name."""
        frames = [await self.next()]
        while frames[-1].name != name:
            frames.append(await self.next())
        return frames

    async def ended(self) -> bool:
        """True once the server has ended the stream, whatever came before."""
        with contextlib.suppress(EOFError, httpx.RemoteProtocolError):
            while True:
                await self.next()
        return True


@contextlib.asynccontextmanager
async def follow(client: httpx.AsyncClient, last_event_id: int | None = None, **query: str) -> AsyncIterator[Follower]:
    """Follow the stream; its answer must be a stream."""
    headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
    async with client.stream("GET", "/api/stream", params=query, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        yield Follower(response)

"""A client's connection to the chat's WebSocket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

WAIT_SECONDS_MAX = 15.0
Json = dict[str, Any]


class Line:
    """One client's connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, kind: str, **frame: Any) -> None:
        await self.connection.send(json.dumps({"type": kind, **frame}))

    async def hear(self) -> Json:
        """The next frame."""
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            frame: Json = json.loads(await self.connection.recv())
        assert "sessionId" in frame
        return frame

    async def until(self, kind: str, event_type: str | None = None) -> list[Json]:
        """Every frame up to the first of a kind."""
        heard = [await self.hear()]
        while (heard[-1]["type"], heard[-1].get("eventType")) != (kind, event_type):
            heard.append(await self.hear())
        return heard

    async def bind(self, **where: str) -> str:
        """Bind a session and give its id."""
        await self.send("bind", **where)
        bound = await self.hear()
        assert (bound["type"], bound["eventType"], bound["payload"]) == (
            "system_event",
            "runtime_event",
            {"bound": True},
        )
        return str(bound["sessionId"])

    async def closed(self) -> int | None:
        """The code the server closed with, once it has."""
        with suppress(ConnectionClosed):
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                async for _ in self.connection:
                    continue
        return self.connection.close_code


@asynccontextmanager
async def open_line(server_url: str, token: str | None, **options: Any) -> AsyncIterator[Line]:
    """A connection with a token as subprotocol; None for one without."""
    offered: Any = None if token is None else [f"bearer.{token}"]
    url = server_url.replace("http", "ws", 1) + "/ws/chat"
    async with connect(url, subprotocols=offered, proxy=None, **options) as connection:
        assert connection.subprotocol == (offered[0] if offered else None)
        yield Line(connection)

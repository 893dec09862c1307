"""WebSockets: messages in, values out within a time limit, and close codes that say why."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from carrel.kernel import Refusal
from carrel.kernel.limits import STREAM_END_SECONDS_MAX, STREAM_SEND_SECONDS_MAX
from carrel.surfaces.http.services import Services

DONE, GOING_AWAY, NOT_ALLOWED, BROKEN, TRY_AGAIN_LATER = 1000, 1001, 1008, 1011, 1013
_encode = msgspec.json.Encoder().encode


class Closing(Exception):
    """The connection must be closed, with a code that says why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def next_message(socket: WebSocket) -> bytes:
    """Return the next message of the client, text or binary; WebSocketDisconnect once it has left."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", DONE))
    return message.get("bytes") or (message.get("text") or "").encode()


async def send_value(socket: WebSocket, value: object) -> None:
    """Send a value as JSON; Closing when the client does not read it in time."""
    try:
        async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
            await socket.send_text(_encode(value).decode())
    except TimeoutError:
        raise Closing(TRY_AGAIN_LATER) from None


async def close_with_server(services: Services) -> None:
    """Wait until the server stops serving, then close the connection."""
    await services.closing.wait()
    raise Closing(GOING_AWAY)


async def close_with_rights(until_revoked: Awaitable[Refusal]) -> None:
    """Wait until the client's rights end, then close the connection."""
    await until_revoked
    raise Closing(NOT_ALLOWED)


def code_in(closings: ExceptionGroup[Closing]) -> int:
    """Return the code to close with: the first one, when several tasks ended the connection at once."""
    return next(error.code for error in closings.exceptions if isinstance(error, Closing))


async def close(socket: WebSocket, code: int) -> None:
    """Close a connection without waiting for a client that no longer reads."""
    with suppress(RuntimeError, WebSocketDisconnect, TimeoutError):
        async with asyncio.timeout(STREAM_END_SECONDS_MAX):
            await socket.close(code)

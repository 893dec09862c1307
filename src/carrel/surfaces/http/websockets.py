"""WebSockets as every surface serves them: messages in, values out within their time, and an end that says why."""

import asyncio
from contextlib import suppress

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from carrel.kernel.limits import STREAM_END_SECONDS_MAX, STREAM_SEND_SECONDS_MAX
from carrel.surfaces.http.house import House

DONE, GOING_AWAY, NOT_ALLOWED, BROKEN, TRY_AGAIN_LATER = 1000, 1001, 1008, 1011, 1013
_encode = msgspec.json.Encoder().encode


class Closing(Exception):
    """The connection is to end, with a code that says why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def next_message(socket: WebSocket) -> bytes:
    """What the other side sends next, as text or as bytes; WebSocketDisconnect once it has left."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", DONE))
    return message.get("bytes") or (message.get("text") or "").encode()


async def send_value(socket: WebSocket, value: object) -> None:
    """Send a value as JSON; Closing when the other side does not take it in time."""
    try:
        async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
            await socket.send_text(_encode(value).decode())
    except TimeoutError:
        raise Closing(TRY_AGAIN_LATER) from None


async def close_with(house: House) -> None:
    """Wait until the server stops serving, and end the connection then."""
    await house.closing.wait()
    raise Closing(GOING_AWAY)


def code_in(closings: ExceptionGroup[Closing]) -> int:
    """The code to close with, of several that ended a connection at once the first."""
    return next(error.code for error in closings.exceptions if isinstance(error, Closing))


async def say_goodbye(socket: WebSocket, code: int) -> None:
    """Close a connection; a client that takes nothing does not take this either, and is not waited for."""
    with suppress(RuntimeError, WebSocketDisconnect, TimeoutError):
        async with asyncio.timeout(STREAM_END_SECONDS_MAX):
            await socket.close(code)

"""The lines of a coding agent as messages, within limits; updates of its turn are handled here, in order.

The SDK's own transport accepts lines of any length, and its connection starts a task for every message. So updates are
taken out of the stream here, and the connection gets only requests and answers.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from carrel.gateway.model import Item
from carrel.kernel import limits
from carrel.programs import FloodGuard, ProgramFault, RunningProgram

_UPDATE = "session/update"
# Takes the parameters of an update; returns whether it still has to be processed.
OnUpdate = Callable[[Any], bool]


class Lines:
    """The SDK's transport to a running program; when the program ends, `over` is set and `fault` says why."""

    def __init__(self, program: RunningProgram, on_update: OnUpdate, over: asyncio.Event) -> None:
        self._program = program
        self._on_update = on_update
        messages_max, bytes_max = limits.ACP_MESSAGES_MAX, limits.ACP_RECEIVED_BYTES_MAX
        self._guard = FloodGuard(messages_max=messages_max, bytes_max=bytes_max, seconds=limits.ACP_FLOOD_SECONDS)
        self._waiting_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._over = over
        self.fault: ProgramFault | None = None
        # It was cut off because of what it sent.
        self.is_bad = False

    async def send(self, message: Item) -> None:
        """Send a message. If nobody reads it any more, the end of the input shows that."""
        with suppress(OSError):
            await self._program.write_line(msgspec.json.encode(message, enc_hook=str))

    async def receive(self) -> Item | None:
        """Return the next request or answer; None at the end."""
        try:
            while line := await self._program.read_line():
                self._guard.received(messages=1, size=len(line))
                message = read_line(line)
                if message is not None and message.get("method") != _UPDATE:
                    return message
                if message is not None and self._on_update(message.get("params")):
                    await self._until_dealt_with(len(line))
            self.fault = await self._program.how_it_ended()
        except ProgramFault as fault:
            self.fault, self.is_bad = fault, True
        self._over.set()
        return None

    async def close(self) -> None:
        """Do nothing: whoever started the program ends it."""

    def dealt_with(self) -> None:
        """Note that everything received has been processed."""
        self._waiting_bytes = 0
        self._room.set()

    async def _until_dealt_with(self, size: int) -> None:
        """Pause reading while too much is unprocessed."""
        self._waiting_bytes += max(size, limits.ACP_WAITING_BYTES_MIN)
        if self._waiting_bytes > limits.ACP_WAITING_BYTES_MAX:
            self._room.clear()
            await self._room.wait()


def read_line(line: bytes) -> Item | None:
    """Return a message that the SDK accepts; None for anything else, which some programs print."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    number, method, error = message.get("id"), message.get("method"), message.get("error")
    is_named = isinstance(number, int | str | None) and isinstance(method, str | None)
    return message if is_named and (error is None or _is_error(error)) else None


def _is_error(error: Any) -> bool:
    return isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)

"""A running program: its streams, how it ended, and its end."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio

from carrel.kernel import redact
from carrel.kernel.limits import PROGRAM_END_SECONDS, PROGRAM_ERROR_OUTPUT_BYTES_MAX

_WATCHER = str(Path(__file__).with_name("watcher.py"))
_PIECE_BYTES = 65_536
# The pid of the program, or why there is none.
_REPLY_BYTES_MAX = 1_024


class Command(NamedTuple):
    """What to start; `env` is all of its environment."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None = None


class CannotStart(Exception):
    """A program was not started; the message says why, for people."""


class Program:
    """A program that was started. `stdout` refuses lines that are longer than was agreed with ValueError."""

    def __init__(self, process: Process, line: socket.socket) -> None:
        assert process.stdin is not None, "started with a pipe"
        assert process.stdout is not None, "started with a pipe"
        assert process.stderr is not None, "started with a pipe"
        self.pid: int | None = None
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._stderr = process.stderr
        self._process = process
        self._line = line
        self._errors = bytearray()

    async def until_started(self, command: Command) -> None:
        """Wait until it runs; raise CannotStart if it does not."""
        reply = await asyncio.get_running_loop().sock_recv(self._line, _REPLY_BYTES_MAX)
        if not reply.isdigit():
            why = reply.decode(errors="replace") or "its watcher has ended"
            raise CannotStart(f"The command {command.command} cannot be started: {why}.")
        self.pid = int(reply)

    async def keep_errors(self) -> None:
        """Keep the end of what it writes to stderr, and never let it wait for us; for a task of its owner."""
        while piece := await self._stderr.read(_PIECE_BYTES):
            self._errors += piece
            del self._errors[:-PROGRAM_ERROR_OUTPUT_BYTES_MAX]

    async def how_it_ended(self) -> str:
        """Return in a sentence how it ended; it may have closed its output only."""
        has_ended = await self._has_ended(PROGRAM_END_SECONDS)
        how = f"ended with exit code {self._process.returncode}" if has_ended else "closed its output"
        said = self._errors.decode(errors="replace").strip().splitlines()[-1:]
        return f"The program {how}." + (f" Its last words: {redact(said[0])}" if said else "")

    async def end(self) -> None:
        """Close its input and wait a little; then let the watcher end it, and whatever it has started."""
        with anyio.CancelScope(shield=True):
            self.stdin.close()
            try:
                await self._has_ended(PROGRAM_END_SECONDS)
            finally:
                # Whoever is cancelled meanwhile waits no longer for the program, but still for its end.
                self._line.close()
                if not await self._has_ended(2 * PROGRAM_END_SECONDS):
                    await self._kill()
                await self._empty()

    async def _kill(self) -> None:
        """End it where its watcher cannot."""
        with suppress(ProcessLookupError, PermissionError):
            if self.pid is not None:
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()
        await self._has_ended(PROGRAM_END_SECONDS)

    async def _empty(self) -> None:
        """Read what nobody wants any more: a pipe that has not been read to its end is never closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PROGRAM_END_SECONDS):
                for stream in (self.stdout, self._stderr):
                    while await stream.read(_PIECE_BYTES):
                        pass

    async def _has_ended(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None


@asynccontextmanager
async def running(command: Command, *, line_bytes_max: int) -> AsyncIterator[Program]:
    """Start a program; it has ended, with whatever it has started, when the context is left."""
    line, far_end = socket.socketpair()
    with line:
        line.setblocking(False)
        with far_end:
            process = await _watcher(command, far_end.fileno(), line_bytes_max)
        program = Program(process, line)
        try:
            await program.until_started(command)
            yield program
        finally:
            await program.end()


async def _watcher(command: Command, line: int, line_bytes_max: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", _WATCHER, str(line), str(PROGRAM_END_SECONDS), command.command, *command.args,
            stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=line_bytes_max, cwd=command.cwd, env=dict(command.env),
            pass_fds=(line,), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        where = f" in {command.cwd}" if command.cwd else ""
        raise CannotStart(f"The command {command.command} cannot be started{where}: {why}.") from error

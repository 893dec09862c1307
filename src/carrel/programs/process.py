"""A running program: its lines, its last error output, and its end, which also ends whatever it started."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path

import anyio

from carrel.kernel import redact
from carrel.kernel.limits import PROGRAM_END_SECONDS, PROGRAM_ERROR_OUTPUT_BYTES_MAX
from carrel.programs.model import Program, ProgramFault

_WATCHER = str(Path(__file__).with_name("watcher.py"))
_PIECE_BYTES = 65_536
# The program's pid, or why it was not started.
_REPLY_BYTES_MAX = 1_024


async def start_program(program: Program, message_bytes_max: int) -> "RunningProgram":
    """Start a program whose lines have at most this many bytes; raise ProgramFault if that fails."""
    line, far_end = socket.socketpair()
    line.setblocking(False)
    running = None
    try:
        with far_end:
            process = await _watcher(program, far_end.fileno(), message_bytes_max)
        running = RunningProgram(process, line, message_bytes_max)
        await running.until_started(program.command)
    except BaseException:
        await running.end() if running else line.close()
        raise
    return running


class RunningProgram:
    """A started program; its owner awaits `end`, and runs `keep_errors` meanwhile."""

    def __init__(self, process: Process, line: socket.socket, message_bytes_max: int) -> None:
        assert process.stdin is not None, "started with a pipe"
        assert process.stdout is not None, "started with a pipe"
        assert process.stderr is not None, "started with a pipe"
        self.pid: int | None = None
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._stderr = process.stderr
        self._process = process
        self._line = line
        self._message_bytes_max = message_bytes_max
        self._errors = bytearray()

    async def until_started(self, command: str) -> None:
        """Wait until it runs; raise ProgramFault if it does not."""
        reply = await asyncio.get_running_loop().sock_recv(self._line, _REPLY_BYTES_MAX)
        if not reply.isdigit():
            why = reply.decode(errors="replace") or "its watcher has ended"
            raise ProgramFault(f"The command {command} cannot be started: {why}.")
        self.pid = int(reply)

    async def read_line(self) -> bytes:
        """Return the next line, empty at the end of the output; raise ProgramFault if it is too long."""
        try:
            return await self._stdout.readline()
        except ValueError as error:
            raise ProgramFault(f"It sent a message of more than {self._message_bytes_max} bytes.") from error

    async def write_line(self, line: bytes) -> None:
        """Write a line; raise OSError if it no longer reads."""
        self._stdin.write(line + b"\n")
        await self._stdin.drain()

    async def keep_errors(self) -> None:
        """Keep the end of its stderr, and never let it block on us."""
        while piece := await self._stderr.read(_PIECE_BYTES):
            self._errors += piece
            del self._errors[:-PROGRAM_ERROR_OUTPUT_BYTES_MAX]

    async def how_it_ended(self) -> ProgramFault:
        """Return how it ended, after the end of its output."""
        has_ended = await self._has_ended(PROGRAM_END_SECONDS)
        how = f"ended with exit code {self._process.returncode}" if has_ended else "closed its output"
        said = self._errors.decode(errors="replace").strip().splitlines()[-1:]
        return ProgramFault(f"The program {how}." + (f" Its last output: {redact(said[0])}" if said else ""))

    async def end(self) -> None:
        """Close its input and wait a little; then let the watcher end it and whatever it started."""
        with anyio.CancelScope(shield=True):
            self._stdin.close()
            try:
                await self._has_ended(PROGRAM_END_SECONDS)
            finally:
                # A cancelled caller no longer waits for the program to exit by itself, but still for its end.
                self._line.close()
                if not await self._has_ended(2 * PROGRAM_END_SECONDS):
                    await self._kill()
                await self._empty()

    async def _kill(self) -> None:
        """Kill it if its watcher cannot."""
        with suppress(ProcessLookupError, PermissionError):
            if self.pid is not None:
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()
        await self._has_ended(PROGRAM_END_SECONDS)

    async def _empty(self) -> None:
        """Discard the remaining output: a pipe that is not read to its end is never closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PROGRAM_END_SECONDS):
                for stream in (self._stdout, self._stderr):
                    while await stream.read(_PIECE_BYTES):
                        pass

    async def _has_ended(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None


async def _watcher(program: Program, line: int, message_bytes_max: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", _WATCHER, str(line), str(PROGRAM_END_SECONDS), program.command, *program.args,
            stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=message_bytes_max, cwd=program.cwd, env=dict(program.env),
            pass_fds=(line,), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        where = f" in {program.cwd}" if program.cwd else ""
        raise ProgramFault(f"The command {program.command} cannot be started{where}: {why}.") from error

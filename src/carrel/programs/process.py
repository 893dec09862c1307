"""A running program: its lines, its last words, and its end, which is that of its whole process group."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

import anyio

from carrel.kernel import redact
from carrel.kernel.limits import PROGRAM_END_SECONDS, PROGRAM_ERROR_OUTPUT_BYTES_MAX
from carrel.programs.launch import Program
from carrel.programs.model import ProgramFault
from carrel.programs.watcher import WATCHER

_PIECE_BYTES = 65_536


async def start_program(program: Program, message_bytes_max: int) -> "RunningProgram":
    """Start a program, whose lines may have so many bytes; raise ProgramFault where that is not possible."""
    try:
        process = await asyncio.create_subprocess_exec(
            program.command, *program.args, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=message_bytes_max,
            cwd=program.cwd, env=dict(program.env), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ProgramFault(f"The command {program.command} cannot be started: {why}.") from error
    WATCHER.watch(process.pid)
    return RunningProgram(process, message_bytes_max)


class RunningProgram:
    """A program that was started; whoever started it awaits `end`, and keeps its errors meanwhile."""

    def __init__(self, process: Process, message_bytes_max: int) -> None:
        self._process = process
        self._message_bytes_max = message_bytes_max
        self._errors = bytearray()

    async def read_line(self) -> bytes:
        """Return the next line, empty at the end of its output; raise ProgramFault for one that is too long."""
        assert self._process.stdout is not None, "started with a pipe"
        try:
            return await self._process.stdout.readline()
        except ValueError as error:
            message = f"It sent a message of more than {self._message_bytes_max} bytes."
            raise ProgramFault(message) from error

    async def write_line(self, line: bytes) -> None:
        """Write a line; raise OSError if it no longer reads."""
        assert self._process.stdin is not None, "started with a pipe"
        self._process.stdin.write(line + b"\n")
        await self._process.stdin.drain()

    async def keep_errors(self) -> None:
        """Keep the end of what it writes to stderr, and never let it wait for us."""
        assert self._process.stderr is not None, "started with a pipe"
        while piece := await self._process.stderr.read(_PIECE_BYTES):
            self._errors += piece
            del self._errors[:-PROGRAM_ERROR_OUTPUT_BYTES_MAX]

    async def how_it_ended(self) -> ProgramFault:
        """Return how it ended, after the end of its output."""
        has_ended = await self._has_ended()
        how = f"ended with exit code {self._process.returncode}" if has_ended else "closed its output"
        said = self._errors.decode(errors="replace").strip().splitlines()[-1:]
        return ProgramFault(f"The program {how}." + (f" Its last words: {redact(said[0])}" if said else ""))

    async def end(self) -> None:
        """Close its input and wait a little; then end it, and whatever it has started."""
        assert self._process.stdin is not None, "started with a pipe"
        self._process.stdin.close()
        with anyio.CancelScope(shield=True):
            try:
                if not await self._has_ended():
                    self._signal(signal.SIGTERM)
                    await self._has_ended()
            finally:
                self._signal(signal.SIGKILL)
                WATCHER.forget(self._process.pid)
                await self._has_ended()

    async def _has_ended(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(PROGRAM_END_SECONDS):
                await self._process.wait()
        return self._process.returncode is not None

    def _signal(self, number: int) -> None:
        """Send a signal to the process group, which may have members after the program itself has ended."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

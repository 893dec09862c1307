"""Programs are started by what they are called, and end with us and with all that they have started."""

import asyncio
import os
import sys
from asyncio.subprocess import create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from carrel.programs import Program, ProgramFault, RunningProgram, start_program
from tests.requirements.mark import requirement

HERE = Path(__file__).parent
_SECONDS_MAX = 60


class Stubborn:
    """Hears of `stubborn.py`: that it runs, and that it and its child have ended."""

    def __init__(self) -> None:
        self.port = 0
        self._heard = asyncio.Queue[bytes]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hear one connection."""
        while line := await reader.readline():
            self._heard.put_nowait(line)
        self._heard.put_nowait(b"")
        writer.close()

    async def says(self) -> bytes:
        """Wait for the next that is heard; nothing once all have ended."""
        return await asyncio.wait_for(self._heard.get(), _SECONDS_MAX)


@asynccontextmanager
async def stubborn() -> AsyncIterator[Stubborn]:
    """Hear stubborn programs on a free port."""
    heard = Stubborn()
    async with await asyncio.start_server(heard.serve, "127.0.0.1", 0) as listening:
        heard.port = listening.sockets[0].getsockname()[1]
        yield heard


@asynccontextmanager
async def running(program: Program) -> AsyncIterator[RunningProgram]:
    """A program that runs until the context is left."""
    started = await start_program(program, 1_000)
    try:
        yield started
    finally:
        await started.end()


def python(*args: object) -> Program:
    """A program that is Python."""
    return Program(sys.executable, ("-S", *map(str, args)), os.environ, None)


async def said_at_its_end(program: RunningProgram) -> str:
    """What is said of a program whose output has ended."""
    async with asyncio.timeout(_SECONDS_MAX), asyncio.TaskGroup() as group:
        group.create_task(program.keep_errors())
        assert await program.read_line() == b""
    return str(await program.how_it_ended())


@requirement("P.mcp.end")
async def test_programs_end_when_their_owner_is_killed_also_those_that_ignore_everything() -> None:
    async with stubborn() as heard:
        owner = await create_subprocess_exec(sys.executable, str(HERE / "owner.py"), str(heard.port))
        assert await heard.says() == b"running\n"
        owner.kill()
        await owner.wait()
        assert await heard.says() == b""


@requirement("P.mcp.end")
async def test_what_a_program_leaves_behind_ends_with_it() -> None:
    async with (
        stubborn() as heard,
        running(python(HERE / "stubborn.py", heard.port, 3)) as program,
    ):
        assert await heard.says() == b"running\n"
        await program.write_line(b"end")
        said = await said_at_its_end(program)
        assert said == "The program ended with exit code 3. Its last output: I have had enough"
        assert await heard.says() == b""


@requirement("P.mcp.end")
async def test_a_program_that_ignores_everything_has_ended_when_it_is_let_go() -> None:
    async with stubborn() as heard:
        async with running(python(HERE / "stubborn.py", heard.port)):
            assert await heard.says() == b"running\n"
        assert await heard.says() == b""


async def test_a_program_that_is_killed_ends_with_the_number_of_the_signal_as_shells_say_it() -> None:
    killed = python("-c", "import os; os.kill(os.getpid(), 9)")
    async with running(killed) as program:
        assert await said_at_its_end(program) == "The program ended with exit code 137."


async def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    missing = Program(str(tmp_path / "missing"), (), os.environ, None)
    with pytest.raises(ProgramFault, match=r"/missing cannot be started: No such file or directory\."):
        async with running(missing):
            pass
    nowhere = python("-c", "")._replace(cwd=str(tmp_path / "nowhere"))
    with pytest.raises(ProgramFault, match=r"cannot be started in .*/nowhere: No such file or directory\."):
        async with running(nowhere):
            pass


async def test_a_program_gets_its_arguments_and_its_environment_and_nothing_else() -> None:
    shown = "import os, sys; print(sys.argv[1:], 'B' in os.environ, os.environ['A'], os.listdir('/dev/fd'))"
    started = python("-c", shown, "a b", "$A", "*")._replace(env={"A": "1"})
    async with running(started) as program:
        line = (await program.read_line()).decode()
    # The last one is the list's own.
    assert line == "['a b', '$A', '*'] False 1 ['0', '1', '2', '3']\n"

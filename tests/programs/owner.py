"""Runs stubborn.py until it is killed itself: `owner.py PORT`."""

import asyncio
import os
import sys
from pathlib import Path

from carrel.programs import Program, start_program

STUBBORN = str(Path(__file__).with_name("stubborn.py"))


async def main() -> None:
    program = await start_program(Program(sys.executable, ("-S", STUBBORN, sys.argv[1]), os.environ, None), 1_000)
    await program.keep_errors()


asyncio.run(main())

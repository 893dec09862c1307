"""Runs stubborn.py until it is killed itself: `owner.py PORT`."""

import asyncio
import os
import sys
from pathlib import Path

from carrel.programs import Command, running

STUBBORN = str(Path(__file__).with_name("stubborn.py"))


async def main() -> None:
    command = Command(sys.executable, ("-S", STUBBORN, sys.argv[1]), os.environ)
    async with running(command, line_bytes_max=1_000):
        await asyncio.Event().wait()


asyncio.run(main())

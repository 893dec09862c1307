"""The dashboard's programs, for `./dev dashboard`."""

import os
import sys

from tests.dashboard.node import BUILT, SOURCE, TYPES, NoNode, api_types, build, program, run, write_lock

USAGE = "usage: ./dev dashboard [build | check | types | lock]"


def main(words: list[str]) -> int:
    """Run what the words name; without any, the development server."""
    match words:
        case []:
            command = program("vite")
            os.chdir(SOURCE)
            os.execv(command[0], command)
        case ["build"]:
            build(BUILT)
        case ["check"]:
            run(program("tsc", "--noEmit"))
        case ["types"]:
            TYPES.write_text(api_types(), "utf-8")
        case ["lock"]:
            write_lock()
        case _:
            sys.stderr.write(f"{USAGE}\n")
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except NoNode:
        sys.exit("dev: Node 20 or newer with npm is needed to work on the dashboard")

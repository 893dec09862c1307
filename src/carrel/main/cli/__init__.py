"""The command line: one table of commands, each a thin reading of the public API or a start of the server.

It must come up at once, so nothing here imports the server or a third-party package before a command needs it.
"""

from carrel.main.cli.program import main

__all__ = ["main"]

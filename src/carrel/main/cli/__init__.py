"""The command line: one table of commands. Most of them call the public API; a few start or maintain the server.

Startup must be instant, so nothing here imports the server or a third-party package before a command needs it.
"""

from carrel.main.cli.program import main

__all__ = ["main"]

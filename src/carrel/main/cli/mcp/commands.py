"""`mcp`: an MCP server over stdin and stdout, and the configuration for clients that start it."""

import contextlib
import io
import sys
import threading
from argparse import Namespace
from typing import TextIO

from carrel.bridge import McpRelay
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.mcp.clients import CLIENTS, show_entry, write_entry
from carrel.main.cli.output import Screen

AT_ONCE_MAX = 32
# How long pending calls may take after stdin closes.
LAST_ANSWERS_SECONDS = 30.0


def mcp(args: Namespace, screen: Screen) -> int:
    """Relay messages between stdin/stdout and the server, or show a client's configuration."""
    if args.action == "config":
        return _config(args, screen)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            # The protocol is UTF-8, whatever the locale.
            stream.reconfigure(encoding="utf-8", errors="replace")
    _Pipes(McpRelay(lambda: connect(args), args.session), sys.stdin, screen.out).relay_all()
    return Exit.OK


def _config(args: Namespace, screen: Screen) -> int:
    if args.client is None:
        raise Failure(Exit.USAGE, f"Name a client: {', '.join(CLIENTS)}.")
    words = ["mcp"]
    for name, value in (("--session", args.session), ("--url", args.url), ("--data-dir", args.data_dir)):
        words += [name, value] if value else []
    words += ["--config", str(args.config.resolve())] if args.config else []
    if args.token:
        screen.note("The token is not written to the file; set CARREL_TOKEN in the client's environment instead.")
    client = CLIENTS[args.client]
    return write_entry(client, words, screen) if args.write else show_entry(client, words, screen)


class _Pipes:
    """Lines in, lines out; a slow call does not block the others."""

    def __init__(self, relay: McpRelay, lines: TextIO, out: TextIO) -> None:
        self._relay = relay
        self._lines = lines
        self._out = out
        self._writing = threading.Lock()
        self._slots = threading.BoundedSemaphore(AT_ONCE_MAX)

    def relay_all(self) -> None:
        """Relay every line until stdin closes, then wait a while for the last answers."""
        for line in self._lines:
            if line.strip():
                self._slots.acquire()
                threading.Thread(target=self._relay_line, args=(line,), daemon=True).start()
        for _ in range(AT_ONCE_MAX):
            if not self._slots.acquire(timeout=LAST_ANSWERS_SECONDS):
                return

    def _relay_line(self, line: str) -> None:
        try:
            answer = self._relay.send(line)
            # The client may have closed the pipe.
            with self._writing, contextlib.suppress(BrokenPipeError, ValueError):
                if answer:
                    self._out.write(answer + "\n")
                    self._out.flush()
        finally:
            self._slots.release()


COMMANDS = (
    Command(
        "mcp",
        "run an MCP server over stdin and stdout; `mcp config CLIENT` shows a client's configuration",
        mcp,
        (
            option("action", nargs="?", choices=("config",), metavar="config", help="show a client's configuration"),
            option("client", nargs="?", choices=tuple(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)),
            option("--write", action="store_true", help="write it to the client's file after showing the changes"),
            option("--session", default="", metavar="KEY", help="session to call from (default: the agent's main one)"),
        ),
    ),
)

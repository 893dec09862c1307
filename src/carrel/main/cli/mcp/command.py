"""`mcp`: speak MCP over stdin and stdout for a program that starts us, and tell such programs how to."""

import contextlib
import io
import sys
import threading
from argparse import Namespace
from typing import TextIO

from carrel.bridge import McpRelay
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.connection import reach
from carrel.main.cli.mcp.clients import CLIENTS, show_entry, write_entry
from carrel.main.cli.output import Screen

AT_ONCE_MAX = 32
# Whoever has said everything still gets the answers that are on their way.
LAST_ANSWERS_SECONDS = 30.0


def mcp(args: Namespace, screen: Screen) -> int:
    """Carry messages between this program's pipes and the server, or show how a client starts it."""
    if args.action == "config":
        return _config(args, screen)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            # The protocol is UTF-8, whatever the machine's own habit.
            stream.reconfigure(encoding="utf-8", errors="replace")
    _Pipes(McpRelay(lambda: reach(args), args.session), sys.stdin, screen.out).carry_all()
    return Exit.OK


def _config(args: Namespace, screen: Screen) -> int:
    if args.client is None:
        raise Failure(Exit.USAGE, f"Name the client: {', '.join(CLIENTS)}.")
    words = ["mcp"]
    for name, value in (("--session", args.session), ("--url", args.url), ("--data-dir", args.data_dir)):
        words += [name, value] if value else []
    words += ["--config", str(args.config.resolve())] if args.config else []
    if args.token:
        screen.note("The token is not written into the file; set CARREL_TOKEN in the client's environment instead.")
    client = CLIENTS[args.client]
    return write_entry(client, words, screen) if args.write else show_entry(client, words, screen)


class _Pipes:
    """Lines in, lines out; a call that waits holds up no other."""

    def __init__(self, relay: McpRelay, lines: TextIO, out: TextIO) -> None:
        self._relay = relay
        self._lines = lines
        self._out = out
        self._writing = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE_MAX)

    def carry_all(self) -> None:
        """Carry every line until there are no more, and give the last answers time to come."""
        for line in self._lines:
            if line.strip():
                self._places.acquire()
                threading.Thread(target=self._carry, args=(line,), daemon=True).start()
        for _ in range(AT_ONCE_MAX):
            if not self._places.acquire(timeout=LAST_ANSWERS_SECONDS):
                return

    def _carry(self, line: str) -> None:
        try:
            answer = self._relay.send(line)
            # Whoever has gone away waits for nothing.
            with self._writing, contextlib.suppress(BrokenPipeError, ValueError):
                if answer:
                    self._out.write(answer + "\n")
                    self._out.flush()
        finally:
            self._places.release()


COMMANDS = (
    Command(
        "mcp",
        "speak MCP over stdin and stdout; `mcp config CLIENT` shows how a client starts it",
        mcp,
        (
            option("action", nargs="?", choices=("config",), metavar="config", help="show a client's configuration"),
            option("client", nargs="?", choices=tuple(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)),
            option(
                "--write", action="store_true", help="put it into the client's own file, after showing what changes"
            ),
            option("--session", default="", metavar="KEY", help="the session to call from (else the agent's main one)"),
        ),
    ),
)

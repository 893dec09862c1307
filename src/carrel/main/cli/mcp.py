"""`mcp`: an MCP server over stdin and stdout, and the configuration for clients that start it."""

import contextlib
import io
import os
import sys
import threading
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from carrel.bridge import BridgeFault, Client, McpRelay
from carrel.main.cli.command import Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Item
from carrel.main.json5 import EMPTY, Json5Fault, read, with_value
from carrel.main.openclaw_config import config_path
from carrel.main.replace_file import changed_lines, replace_file, text_of

NAME = "carrel"


class McpClient(NamedTuple):
    """An MCP client: its file, in the home directory or the project, and the keys that lead to our entry."""

    name: str
    file: tuple[str, ...]
    names: tuple[str, ...]
    in_project: bool = False
    is_toml: bool = False

    @property
    def path(self) -> Path:
        """The full path of the file."""
        if self.name == "openclaw":
            return config_path(os.environ)
        return (Path.cwd() if self.in_project else Path.home()).joinpath(*self.file)


CLIENTS = {
    client.name: client
    for client in (
        McpClient("claude", (".mcp.json",), ("mcpServers",), in_project=True),
        McpClient("codex", (".codex", "config.toml"), ("mcp_servers",), is_toml=True),
        McpClient("cursor", (".cursor", "mcp.json"), ("mcpServers",)),
        McpClient("openclaw", (".openclaw", "openclaw.json"), ("mcp", "servers")),
    )
}


def _write_entry(client: McpClient, entry: Item, screen: Screen) -> int:
    path = client.path
    try:
        before = text_of(path)
        after = _merged(client, before, entry)
        if after == before:
            screen.note(f"{path} already has this entry.")
            return Exit.OK
        for line in changed_lines(path, before, after):
            screen.line(line)
        replace_file(path, after)
    except (OSError, UnicodeError) as fault:
        raise Failure(Exit.FAILED, f"{path} cannot be changed ({fault}).") from fault
    screen.note(f"Wrote {path}. Restart {client.name}.")
    return Exit.OK


def mcp_entry(args: Namespace) -> Item:
    """Return how a client starts our server, with the options that were given."""
    # The full path, because desktop programs often lack the shell's PATH.
    started = Path(sys.argv[0])
    command = str(started.resolve()) if started.name == NAME and started.exists() else NAME
    words = ["mcp"]
    for name in ("session", "url", "data_dir"):
        if value := getattr(args, name, None):
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--config", str(args.config.resolve())] if args.config else []
    return {"command": command, "args": words}


def _alone(client: McpClient, entry: Item) -> str:
    from carrel.main.settings_edit import table_text

    path = (*client.names, NAME)
    return table_text(".".join(path), entry) if client.is_toml else with_value(EMPTY, path, entry)


def _merged(client: McpClient, before: str, entry: Item) -> str:
    import tomllib

    from carrel.main.settings_edit import with_table

    try:
        known: Any = tomllib.loads(before) if client.is_toml else read(before or EMPTY).value
    except ValueError as fault:
        raise _by_hand(client, entry, f"cannot be parsed ({fault})") from fault
    present = known
    for name in (*client.names, NAME):
        present = present.get(name, {}) if isinstance(present, dict) else {}
    if present == entry:
        return before
    if not client.is_toml:
        try:
            return with_value(before or EMPTY, (*client.names, NAME), entry)
        except Json5Fault as fault:
            raise _by_hand(client, entry, f"has an unexpected structure ({fault})") from fault
    if present:
        raise _by_hand(client, entry, "already has a different entry with that name")
    after = with_table(before, _alone(client, entry))
    try:
        tomllib.loads(after)
    except ValueError as fault:
        # An inline table cannot be extended from outside it.
        raise _by_hand(client, entry, f"has {client.names[-1]} as an inline table") from fault
    return after


def _by_hand(client: McpClient, entry: Item, why: str) -> Failure:
    return Failure(Exit.FAILED, f"{client.path} {why}; add this by hand:\n{_alone(client, entry)}")


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
    _Pipes(McpRelay(lambda: _connected(args), args.session), sys.stdin, screen.out).relay_all()
    return Exit.OK


def _connected(args: Namespace) -> Client:
    """Return a client for the server; a failure becomes an answer to the MCP client, which would else wait."""
    try:
        return connect(args)
    except Failure as failure:
        raise BridgeFault(str(failure)) from failure


def _config(args: Namespace, screen: Screen) -> int:
    if args.client is None:
        raise Failure(Exit.USAGE, f"Name a client: {', '.join(CLIENTS)}.")
    if args.token:
        screen.note("The token is not written to the file; set CARREL_TOKEN in the client's environment instead.")
    client, entry = CLIENTS[args.client], mcp_entry(args)
    if args.write:
        return _write_entry(client, entry, screen)
    screen.note(f"# {client.path}")
    screen.out.write(_alone(client, entry))
    return Exit.OK


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
    command(
        "mcp", "run an MCP server over stdin and stdout; `mcp config CLIENT` shows a client's configuration", mcp,
        option("action", "config", "show a client's configuration", nargs="?", choices=("config",)),
        option("client", "CLIENT", ", ".join(CLIENTS), nargs="?", choices=tuple(CLIENTS)),
        option("--write", "", "write it to the client's file after showing the changes", action="store_true"),
        option("--session", "KEY", "session to call from (default: the agent's main one)", default=""),
    ),
)  # fmt: skip

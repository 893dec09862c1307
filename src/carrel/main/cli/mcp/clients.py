"""The programs that start `carrel mcp`: where each keeps its configuration, and how ours gets into it."""

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from carrel.main.cli.command import Exit, Failure
from carrel.main.cli.output import Screen

NAME = "carrel"
Item = dict[str, Any]


class McpClient(NamedTuple):
    """One program: its file, beneath the home directory unless it is the project's, and the path of names to us."""

    name: str
    file: tuple[str, ...]
    names: tuple[str, ...]
    in_project: bool = False
    is_toml: bool = False

    @property
    def path(self) -> Path:
        """The file itself."""
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


def show_entry(client: McpClient, words: list[str], screen: Screen) -> int:
    """Print what belongs into the client's file."""
    screen.note(f"# {client.path}")
    screen.out.write(_alone(client, _entry(words)))
    return Exit.OK


def write_entry(client: McpClient, words: list[str], screen: Screen) -> int:
    """Put our entry into the client's file, after showing what changes."""
    import difflib

    path = client.path
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = _merged(client, before, _entry(words))
        if after == before:
            screen.note(f"{path} says so already.")
            return Exit.OK
        shown = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="")
        for line in shown:
            screen.line(line)
        _replace(path, after)
    except (OSError, UnicodeError) as fault:
        raise Failure(Exit.FAILED, f"{path} cannot be changed ({fault}).") from fault
    screen.note(f"Written to {path}; start {client.name} anew.")
    return Exit.OK


def _entry(words: list[str]) -> Item:
    # By its full path: programs with windows often know none of the shell's.
    started = Path(sys.argv[0])
    command = str(started.resolve()) if started.name == NAME and started.exists() else NAME
    return {"command": command, "args": words}


def _alone(client: McpClient, entry: Item) -> str:
    return _toml(client, entry) if client.is_toml else _json(_nested(client, {}, entry))


def _merged(client: McpClient, before: str, entry: Item) -> str:
    import tomllib

    try:
        known: Item = (tomllib.loads if client.is_toml else json.loads)(before) if before.strip() else {}
    except ValueError as fault:
        raise _by_hand(client, entry, f"cannot be read as it is ({fault})") from fault
    present: Any = known
    place = "its top"
    for name in (*client.names, NAME):
        if not isinstance(present, dict):
            raise _by_hand(client, entry, f"is not laid out as expected at {place}")
        present, place = present.get(name, {}), name
    if present == entry:
        return before
    if not client.is_toml:
        return _json(_nested(client, known, entry))
    if present:
        raise _by_hand(client, entry, "has another entry of that name")
    after = (before.rstrip("\n") + "\n\n" if before.strip() else "") + _toml(client, entry)
    try:
        tomllib.loads(after)
    except ValueError as fault:
        # A table written between braces is closed: none can be added to it from outside.
        raise _by_hand(client, entry, f"writes {client.names[-1]} between braces") from fault
    return after


def _nested(client: McpClient, known: Item, entry: Item) -> Item:
    inner = known
    for name in client.names:
        inner = inner.setdefault(name, {})
    inner[NAME] = entry
    return known


def _json(whole: Item) -> str:
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _toml(client: McpClient, entry: Item) -> str:
    # A string of JSON is one of TOML, and a list of them a list.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    return "\n".join([f"[{'.'.join((*client.names, NAME))}]", *lines]) + "\n"


def _by_hand(client: McpClient, entry: Item, why: str) -> Failure:
    return Failure(Exit.FAILED, f"{client.path} {why}; put this into it by hand:\n{_alone(client, entry)}")


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, with the rights it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Where it is a link, what it leads to is changed.
    target = path.resolve()
    fresh = target.with_name(f"{target.name}.new")
    # For its owner's eyes only from the first byte on: such files may hold secrets of others.
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    if target.exists():
        fresh.chmod(target.stat().st_mode & 0o777)
    fresh.replace(target)

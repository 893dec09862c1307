"""Finding the server and the token: from the options, the environment or the local data directory."""

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from carrel.bridge import Client
from carrel.main.cli.command import Exit, Failure, Option, option

if TYPE_CHECKING:
    from carrel.main.settings import Loaded

DEFAULT_PORT = 8787
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared with, not bound to)

LOCAL_OPTIONS: tuple[Option, ...] = (
    option("--config", type=Path, metavar="FILE", help="settings file (default: ./carrel.toml)"),
    option("--data-dir", metavar="DIR", help="local data directory"),
)
SERVER_OPTIONS: tuple[Option, ...] = (
    option("--url", help="server address (default: CARREL_URL, or the local server)"),
    option("--token", help="token (default: CARREL_TOKEN, or the local owner's)"),
    option("--json", action="store_true", help="print the answer as JSON"),
    *LOCAL_OPTIONS,
)


def connect(args: Namespace) -> Client:
    """Return a client for the server and token that the arguments name."""
    url = args.url or os.environ.get("CARREL_URL", "")
    token = args.token or os.environ.get("CARREL_TOKEN", "")
    if url and (token or not is_local(url)):
        # The local owner's token grants everything here, so it is never sent to another machine by default.
        return Client(url, token)
    settings = local_settings(args).settings
    return Client(
        url or running_url(settings.storage.data_dir) or configured_url(settings.server.host, settings.server.port),
        token or owner_token(settings.storage.data_dir),
    )


def local_settings(args: Namespace, **overrides: object) -> "Loaded":
    """Return this machine's settings, or fail and list every mistake in them."""
    from carrel.main.settings import SettingsFault

    try:
        return read_settings(args, **overrides)
    except SettingsFault as fault:
        raise Failure(Exit.USAGE, "\n".join(fault.problems)) from fault


def read_settings(args: Namespace, **overrides: object) -> "Loaded":
    """Return this machine's settings; raise `SettingsFault` with every mistake in them."""
    from carrel.main.settings import load

    given = {name.replace("__", "."): value for name, value in overrides.items() if value is not None}
    if args.data_dir is not None:
        given["storage.data_dir"] = args.data_dir
    return load(args.config, os.environ, given)


def running_url(data_dir: Path) -> str:
    """Return the address of the server running on this directory, empty when none is running."""
    try:
        left = json.loads((data_dir / "server.json").read_text(encoding="utf-8"))
        url, pid = str(left["url"]), int(left["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return url if _is_alive(pid) else ""


def owner_token(data_dir: Path) -> str:
    """Return the owner's token stored in the directory, empty when it cannot be read."""
    try:
        return (data_dir / "owner_token").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def configured_url(host: str, port: int) -> str:
    """Return the address a server with these settings would have."""
    name = "127.0.0.1" if host in _EVERYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port or DEFAULT_PORT}"


def is_local(url: str) -> bool:
    """Tell whether an address is on this machine."""
    try:
        return urlsplit(url if "://" in url else f"http://{url}").hostname in _LOOPBACK
    except ValueError:
        return False


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True

"""The server on this machine: its address and its owner's token, as a running server leaves them in its directory."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

DEFAULT_PORT = 8787
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared with, not bound to)


class LocalServer(NamedTuple):
    url: str
    token: str


class DataDir(NamedTuple):
    """A data directory, and the address of its server if the server has not left another one there."""

    data_dir: Path
    url: str


def find_server(url: str, token: str, place: Callable[[], DataDir]) -> LocalServer:
    """Return the server and token that are given, else those of the environment, else those of a place.

    The place is read only if necessary. The local owner's token grants everything here, so it is never sent
    to another machine by default.
    """
    url, token = url or os.environ.get("CARREL_URL", ""), token or os.environ.get("CARREL_TOKEN", "")
    if url and (token or not is_local(url)):
        return LocalServer(url, token)
    data_dir, otherwise = place()
    return LocalServer(url or running_url(data_dir) or otherwise, token or owner_token(data_dir))


def local_server(data_dir: Path | str | None) -> LocalServer:
    """Return the server of a directory; without one, the environment's or that of this user's own directory."""
    if data_dir is not None:
        place = _place(data_dir)
        return LocalServer(running_url(place.data_dir) or place.url, owner_token(place.data_dir))
    return find_server("", "", lambda: _place(None))


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
    """Return whether an address is on this machine."""
    try:
        return urlsplit(url if "://" in url else f"http://{url}").hostname in _LOOPBACK
    except ValueError:
        return False


def _place(data_dir: Path | str | None) -> DataDir:
    """Return a directory and its usual address; by default this user's own directory."""
    # Imported late: only those who look for a local server pay for it.
    from carrel.kernel.settings import ServerSettings, StorageSettings

    usual = ServerSettings()
    if data_dir is None:
        data_dir = os.environ.get("CARREL_STORAGE__DATA_DIR") or StorageSettings().data_dir
    return DataDir(Path(data_dir).expanduser(), configured_url(usual.host, usual.port))


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as fault:
        return not isinstance(fault, ProcessLookupError)
    return True

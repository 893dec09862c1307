"""Finding the server and the token: from the options, the environment or the local data directory."""

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.bridge import Client, Place, configured_url, find_server
from carrel.main.cli.command import Exit, Failure, Option, option

if TYPE_CHECKING:
    from carrel.main.settings import Loaded

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
    return Client(*find_server(args.url or "", args.token or "", lambda: local_place(args)))


def local_place(args: Namespace) -> Place:
    """Return this machine's data directory and the configured address of its server."""
    settings = local_settings(args).settings
    return Place(settings.storage.data_dir, configured_url(settings.server.host, settings.server.port))


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

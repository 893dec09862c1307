"""Finding the server and the token: from the options, the environment or the local data directory."""

import os
from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from carrel.bridge import Client, DataDir, configured_url, find_server, is_local
from carrel.main.cli.command import Exit, Failure
from carrel.main.cli.session_keys import is_cut, session_key

if TYPE_CHECKING:
    from carrel.kernel.settings import Settings
    from carrel.main.settings import LoadedSettings
    from carrel.main.settings_file import SettingsFile


def connect(args: Namespace) -> Client:
    """Return a client for the server and token that the arguments name."""
    return Client(*find_server(args.url or "", args.token or "", lambda: local_place(args)))


def complete_session(args: Namespace) -> None:
    """Replace a session key that a table has cut with the whole key."""
    if is_cut(getattr(args, "session", None) or ""):
        with connect(args) as client:
            args.session = session_key(client, args.session)


def uses_owner_token(args: Namespace) -> bool:
    """Return whether the arguments select the token of the local data directory."""
    url = getattr(args, "url", None) or os.environ.get("CARREL_URL", "")
    token = getattr(args, "token", None) or os.environ.get("CARREL_TOKEN", "")
    return not token and (not url or is_local(url))


def local_place(args: Namespace) -> DataDir:
    """Return this machine's data directory and the configured address of its server."""
    settings = local_settings(args).settings
    return DataDir(settings.storage.data_dir, configured_url(settings.server.host, settings.server.port))


def local_settings(args: Namespace) -> "LoadedSettings":
    """Return this machine's settings, or fail and list every mistake in them."""
    from carrel.main.settings import SettingsFault

    try:
        return read_settings(args)
    except SettingsFault as fault:
        raise Failure(Exit.USAGE, "\n".join(fault.problems)) from fault


def on_this_machine(args: Namespace) -> AbstractContextManager["Settings"]:
    """Return this machine's settings, for commands that need no server."""
    return nullcontext(local_settings(args).settings)


def local_settings_file(args: Namespace) -> "SettingsFile":
    """Return the settings file that applies on this machine, without reading it."""
    from carrel.main.settings_file import settings_file

    return settings_file(args.config, os.environ, args.data_dir)


def read_settings(args: Namespace) -> "LoadedSettings":
    """Return this machine's settings; raise `SettingsFault` with every mistake in them."""
    from carrel.main.settings import load

    named = {"storage.data_dir": "data_dir", "server.host": "host", "server.port": "port"}
    given = {name: getattr(args, dest, None) for name, dest in named.items()}
    return load(args.config, os.environ, {name: value for name, value in given.items() if value is not None})

"""`up`, `serve` and `init`: start a server, write a settings file."""

import os
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.bridge import Client, Refused, owner_token, running_url
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import LOCAL_OPTIONS, local_settings, local_settings_file, read_settings
from carrel.main.cli.output import Screen
from carrel.main.login_page import RENEW, keep_login_page, signed_in

if TYPE_CHECKING:
    from carrel.main.settings import Loaded

_SERVE_OPTIONS = (
    *LOCAL_OPTIONS,
    option("--host", help="address to listen on"),
    option("--port", type=int, help="port to listen on; 0 picks a free one"),
    option("--open", action="store_true", help="open the dashboard in a browser"),
    option("--role", choices=("all", "api", "worker"), default="all", help="serve the API, work on runs, or both"),
)

CONFIG_TEXT = """\
# Carrel's settings, shown with their defaults. Remove the # to change a value.
# Environment variables win: CARREL_SERVER__PORT=9000 sets port in [server].

[server]
# host = "127.0.0.1"
# port = 8787
# public_url = ""             # how clients reach this server, if not by host and port

[storage]
# data_dir = "~/.carrel"      # the database, attachments and the owner's token; not in a file that is in it
# url = "postgresql://carrel@localhost/carrel"    # instead of one SQLite file in data_dir
# durability = "full"         # or "normal": faster, but a power failure may lose the last moments

[auth]
# mode = "required"           # or "loopback": callers on this machine need no token

# A model. Without one, the built-in agent answers.
# [gateway.default]
# kind = "responses"          # Open Responses; or "chat" (Chat Completions), or "anthropic" (its Messages API)
# base_url = "http://127.0.0.1:11434"
# api_key = ""                # better in the environment: CARREL_GATEWAY__DEFAULT__API_KEY
# model = ""

[runs]
# concurrency = 64            # turns that run at once
# timeout_minutes = 30        # of one run
# attempts_max = 5
# waiting_days = 7            # how long a run waits for a person
# unreachable_hours = 24      # how long it waits for a model that does not answer

[sessions]
# task_scoped = true          # a separate session for every task
# closed_retention_days = 90

[log]
# level = "info"
# format = "json"             # or "text"
"""


def serve(args: Namespace, screen: Screen) -> int:
    """Run the server until it is stopped."""
    overrides = {"server__host": args.host, "server__port": args.port}
    loaded = local_settings(args, **overrides)
    for notice in (*_of_this_directory(loaded), *loaded.notices):
        screen.note(notice)
    # The server imports the web framework and the database; no other command should pay for that.
    from carrel.main.server import serve as serve_until_stopped

    read = partial(read_settings, args, **overrides)
    return serve_until_stopped(read, role=args.role, open_browser=args.open)


def _of_this_directory(loaded: "Loaded") -> Iterator[str]:
    """Warn that the settings come from the working directory: from another one, the same data would have others."""
    from carrel.main.settings_file import unread_file

    if loaded.file.origin == "working directory":
        unread = unread_file(loaded.file, loaded.settings.storage.data_dir)
        yield f"The settings are read from {loaded.file.path.absolute()}{f', not from {unread}' if unread else ''}."


def up(args: Namespace, screen: Screen) -> int:
    """Run the server and print what to do next; where one is running, print its link."""
    data_dir = local_settings(args).settings.storage.data_dir
    if running_url(data_dir):
        screen.note("A server is running on this data directory already; open its dashboard here:")
        screen.line(_dashboard(data_dir, screen))
        return Exit.OK
    screen.note("Starting. Open the dashboard address below, or run `carrel chat` in another terminal. Ctrl-C stops.")
    return serve(args, screen)


def open_dashboard(args: Namespace, screen: Screen) -> int:
    """Open the dashboard of the running server in a browser, signed in."""
    data_dir = local_settings(args).settings.storage.data_dir
    if not running_url(data_dir):
        raise Failure(Exit.NOT_REACHABLE, "No server is running here. Start one with `carrel up`.")
    import webbrowser

    address = _dashboard(data_dir, screen)
    if not webbrowser.open(keep_login_page(data_dir, address).as_uri()):
        screen.note("No browser could be opened; open this address:")
        screen.line(address)
    return Exit.OK


def _dashboard(data_dir: Path, screen: Screen) -> str:
    """Return the dashboard's address; it signs the owner in if the server takes the owner's token."""
    url, token = running_url(data_dir), owner_token(data_dir)
    try:
        with Client(url, token) as client:
            client.get("/api/auth/me")
    except Refused as fault:
        if fault.status != HTTPStatus.UNAUTHORIZED:
            raise
        screen.note(RENEW)
        token = ""
    return signed_in(url, token)


def init(args: Namespace, screen: Screen) -> int:
    """Write a commented settings file that changes nothing."""
    path = local_settings_file(args).path
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if args.force else os.O_EXCL)
        # Readable by its owner only: it may come to hold a model's API key.
        with os.fdopen(os.open(path, mode, 0o600), "w", encoding="utf-8") as file:
            file.write(CONFIG_TEXT)
    except FileExistsError as fault:
        raise Failure(Exit.FAILED, f"{path} already exists; --force overwrites it.") from fault
    except OSError as fault:
        raise Failure(Exit.FAILED, f"{path} cannot be written: {fault.strerror}.") from fault
    screen.line(f"Wrote {path}. Edit it, then start with `carrel up`.")
    return Exit.OK


COMMANDS = (
    Command("up", "start the server and show how to begin", up, needs_server=False).takes(*_SERVE_OPTIONS),
    Command("open", "open the dashboard in a browser, signed in", open_dashboard, needs_server=False).takes(
        *LOCAL_OPTIONS
    ),
    Command("serve", "start the server", serve, needs_server=False).takes(*_SERVE_OPTIONS),
    Command("init", "write a commented settings file", init, needs_server=False).takes(
        option("--force", action="store_true", help="overwrite an existing file"), *LOCAL_OPTIONS
    ),
)

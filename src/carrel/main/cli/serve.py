"""`serve`, `up` and `init`: bringing a server into being."""

import os
from argparse import Namespace
from pathlib import Path

from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.connection import LOCAL_OPTIONS, local_settings
from carrel.main.cli.output import Screen

_SERVE_OPTIONS = (
    *LOCAL_OPTIONS,
    option("--host", help="address to listen on"),
    option("--port", type=int, help="port to listen on; 0 takes a free one"),
    option("--open", action="store_true", help="open the dashboard in a browser"),
    option("--role", choices=("all", "api", "worker"), default="all", help="which half of the work to do here"),
)

CONFIG_TEXT = """\
# Settings of Carrel. Everything here has a default; take away the # where you want another value.
# The environment comes first: CARREL_SERVER__PORT=9000 stands for port below [server].

[server]
# host = "127.0.0.1"
# port = 8787
# public_url = ""             # the address others reach this server by, when it is not the one above

[storage]
# data_dir = "~/.carrel"      # the database, attachments and the owner's token
# url = "postgresql://carrel@localhost/carrel"    # instead of one SQLite file in data_dir
# durability = "full"         # or "normal": faster, and the last moments may be lost when the power fails

[auth]
# mode = "required"           # or "loopback": callers on this machine need no token

# How agents reach a model: any server that speaks Open Responses. Without one the built-in agent answers.
# [gateway.default]
# kind = "responses"
# base_url = "http://127.0.0.1:11434"
# api_key = ""                # better in the environment: CARREL_GATEWAY__DEFAULT__API_KEY
# model = ""

[runs]
# concurrency = 64            # turns at a time
# timeout_minutes = 30        # for one run
# attempts_max = 5
# waiting_days = 7            # how long a run waits for a person

[sessions]
# task_scoped = true          # a session of its own for every task
# closed_retention_days = 90

[log]
# level = "info"
# format = "json"             # or "text"
"""


def serve(args: Namespace, screen: Screen) -> int:
    """Start the server and stay until it is told to stop."""
    loaded = local_settings(args, server__host=args.host, server__port=args.port)
    for notice in loaded.notices:
        screen.note(notice)
    # The server brings the web framework and the database along; no other command should pay for it.
    from carrel.main.server import serve as serve_until_stopped

    return serve_until_stopped(loaded, role=args.role, open_browser=args.open)


def up(args: Namespace, screen: Screen) -> int:
    """Start the server for somebody who is looking on."""
    screen.note("Starting. Open the dashboard's address below, or say `carrel chat` in another window; Ctrl-C stops.")
    return serve(args, screen)


def init(args: Namespace, screen: Screen) -> int:
    """Write a settings file in which everything is explained and nothing is changed."""
    path: Path = args.config
    try:
        mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if args.force else os.O_EXCL)
        # Only its owner may read it: a key for a model may end up in it.
        with os.fdopen(os.open(path, mode, 0o600), "w", encoding="utf-8") as file:
            file.write(CONFIG_TEXT)
    except FileExistsError as fault:
        raise Failure(Exit.FAILED, f"{path} is already there; --force writes over it.") from fault
    except OSError as fault:
        raise Failure(Exit.FAILED, f"{path} cannot be written: {fault.strerror}.") from fault
    screen.line(f"Wrote {path}. Look it over, then start with `carrel up`.")
    return Exit.OK


COMMANDS = (
    Command("up", "start the server and say how to begin", up, _SERVE_OPTIONS, asks_server=False),
    Command("serve", "start the server", serve, _SERVE_OPTIONS, asks_server=False),
    Command(
        "init",
        "write a commented settings file",
        init,
        (
            option("--config", type=Path, default=Path("carrel.toml"), metavar="FILE", help="where to (carrel.toml)"),
            option("--force", action="store_true", help="write over a file that is there"),
        ),
        asks_server=False,
    ),
)

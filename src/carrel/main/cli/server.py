"""`up`, `serve`, `open`, `init`, `demo`, `backup`, `restore`, `migrate` and `openapi`: a server of this machine."""

import gc
import json
import os
import shutil
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.bridge import Client, NotReachable, Refused, owner_token, running_url
from carrel.kernel import Refusal, SystemClock, elapsed_seconds
from carrel.main.cli.command import LOCAL_OPTIONS, Exit, Failure, command, option
from carrel.main.cli.discovery import local_settings, local_settings_file, read_settings
from carrel.main.cli.output import Screen
from carrel.main.login_page import RENEW, keep_login_page, signed_in

if TYPE_CHECKING:
    from carrel.main.settings import LoadedSettings

DEMO_FOLDER = "demo"
# Marks a complete demo; one without the mark is built again.
_DEMO_BUILT = "built"
_DEMO_SETTINGS = """\
# The settings of `carrel demo`. Its agents need no model: they follow a script.

[prices."demo-large"]
input = 3
cached = 0.3
output = 15

[prices."demo-small"]
input = 0.25
cached = 0.03
output = 1.25

[classifier]
mode = "off"
"""
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
    loaded = local_settings(args)
    for notice in (*_of_this_directory(loaded), *loaded.notices):
        screen.note(notice)
    # The server imports the web framework and the database; no other command should pay for that.
    with _nothing_collected():
        from carrel.main.server import serve as serve_until_stopped

    return serve_until_stopped(partial(read_settings, args), role=args.role, open_browser=args.open)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep garbage collection away from what is imported: all of it stays, and looking takes a fifth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _of_this_directory(loaded: "LoadedSettings") -> Iterator[str]:
    """Warn that the settings come from the working directory: from another one, the same data would have others."""
    from carrel.main.settings_file import unread_file

    if loaded.file.origin == "working directory":
        unread = unread_file(loaded.file, loaded.settings.storage.data_dir)
        yield f"The settings are read from {loaded.file.path.absolute()}{f', not from {unread}' if unread else ''}."


def up(args: Namespace, screen: Screen) -> int:
    """Run the server and print what to do next; where one is running, print its link."""
    data_dir = local_settings(args).settings.storage.data_dir
    # A server that was killed may have left its address, and its process id may be that of another program by now.
    with suppress(NotReachable):
        if running_url(data_dir):
            address = _dashboard(data_dir, screen)
            screen.note("A server is running on this data directory already; open its dashboard here:")
            screen.line(address)
            return Exit.OK
    screen.note("Starting. Open the dashboard address below, or run `carrel chat` in another terminal. Ctrl-C stops.")
    return serve(args, screen)


def open_dashboard(args: Namespace, screen: Screen) -> None:
    data_dir = local_settings(args).settings.storage.data_dir
    if not running_url(data_dir):
        raise Failure(Exit.NOT_REACHABLE, "No server is running here. Start one with `carrel up`.")
    import webbrowser

    address = _dashboard(data_dir, screen)
    if not webbrowser.open(keep_login_page(data_dir, address).as_uri()):
        screen.note("No browser could be opened; open this address:")
        screen.line(address)


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


def init(args: Namespace, screen: Screen) -> None:
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


def demo(args: Namespace, screen: Screen) -> int:
    """Build the demo unless it exists, and serve it."""
    folder = local_settings(args).settings.storage.data_dir / DEMO_FOLDER
    if running_url(folder):
        screen.note("The demo is running already; `carrel open --data-dir` with the folder below opens it.")
        screen.line(str(folder))
        return Exit.OK
    # These import the web framework and the database; no other command should pay for that.
    import asyncio

    from carrel.main.demo.build import build_demo
    from carrel.main.demo.serve import serve_demo

    if args.anew:
        shutil.rmtree(folder, ignore_errors=True)
    if not (folder / _DEMO_BUILT).exists():
        shutil.rmtree(folder, ignore_errors=True)
        screen.note(f"Building the demo in {folder}; this takes some seconds.")
        began = elapsed_seconds()
        folder.mkdir(mode=0o700, parents=True)
        (folder / "carrel.toml").write_text(_DEMO_SETTINGS, encoding="utf-8")
        asyncio.run(build_demo(lambda: _demo_settings(folder, args), SystemClock().now_ms()))
        (folder / _DEMO_BUILT).touch()
        screen.note(f"Built in {elapsed_seconds() - began:.0f} s. It is kept; --anew builds it again.")
    if args.build_only:
        return Exit.OK
    return serve_demo(lambda: _demo_settings(folder, args), open_browser=args.open)


def _demo_settings(folder: Path, args: Namespace) -> "LoadedSettings":
    """Return the settings of the demo alone: neither those of this server nor of the environment apply to it."""
    from carrel.main.settings import load

    given = {"storage.data_dir": str(folder), "server.host": args.host, "server.port": args.port}
    return load(folder / "carrel.toml", {}, {name: value for name, value in given.items() if value is not None})


def backup(args: Namespace, screen: Screen) -> None:
    settings = local_settings(args).settings
    from carrel.storage import back_up

    with _store_faults(), screen.waiting("copying…"):
        back_up(settings.storage.url, args.file)
    screen.line(f"Wrote {args.file} ({args.file.stat().st_size:,} bytes).")


def restore(args: Namespace, screen: Screen) -> None:
    settings = local_settings(args).settings
    if address := running_url(settings.storage.data_dir):
        raise Failure(Exit.FAILED, f"A server is running at {address}; stop it first.")
    from carrel.storage import restore as fill

    with _store_faults(), screen.waiting("copying…"):
        fill(args.file, settings.storage.url)
    screen.line("Restored. Start the server with `carrel up`.")


def migrate(args: Namespace, screen: Screen) -> None:
    settings = local_settings(args).settings
    from carrel.storage import migrate as apply_pending

    with _store_faults():
        applied = apply_pending(settings.storage.url)
    for name in applied:
        screen.line(name)
    screen.note(f"{len(applied)} applied." if applied else "The store is up to date.")


def openapi(args: Namespace, screen: Screen) -> None:
    from carrel.main.assembly import whole_document

    screen.out.write(json.dumps(whole_document(), ensure_ascii=False, indent=2) + "\n")


@contextmanager
def _store_faults() -> Iterator[None]:
    """Pass refusals of the store through, and turn every other exception into one sentence."""
    try:
        yield
    except Refusal:
        raise
    except Exception as fault:  # boundary: database drivers raise their own exceptions, which only storage may import
        words = (str(fault).partition("\n")[0] or type(fault).__name__).rstrip(".")
        raise Failure(Exit.FAILED, f"The store cannot be used: {words}.") from fault


_FILE = option("file", "FILE", type=Path)
_LISTEN = (
    option("--host", "HOST", "address to listen on"),
    option("--port", "PORT", "port to listen on; 0 picks a free one", type=int),
    option("--open", "", "open the dashboard in a browser", action="store_true"),
)
_ROLE = option("--role", "", "serve the API, work on runs, or both", choices=("all", "api", "worker"), default="all")
COMMANDS = (
    command("up", "start the server and show how to begin", up, *_LISTEN, _ROLE, common=LOCAL_OPTIONS),
    command("open", "open the dashboard in a browser, signed in", open_dashboard, common=LOCAL_OPTIONS),
    command("serve", "start the server", serve, *_LISTEN, _ROLE, common=LOCAL_OPTIONS),
    command("init", "write a commented settings file", init,
            option("--force", "", "overwrite an existing file", action="store_true"), common=LOCAL_OPTIONS),
    command("demo", "look at a server with a month of work in it", demo, *_LISTEN,
            option("--anew", "", "build it again; what was done in it is lost", action="store_true"),
            option("--build-only", "", "build it, and do not serve it", action="store_true"), common=LOCAL_OPTIONS),
)  # fmt: skip
MAINTENANCE = (
    command("backup", "write a backup of the store", backup, _FILE, common=LOCAL_OPTIONS,
            examples=("carrel-backup.db",)),
    command("restore", "fill an empty store from a backup", restore, _FILE, common=LOCAL_OPTIONS),
    command("migrate", "upgrade the store to this version's schema", migrate, common=LOCAL_OPTIONS),
    command("openapi", "print the OpenAPI document", openapi, common=()),
)  # fmt: skip

"""`backup`, `restore`, `migrate` and `openapi`: what is done without asking a server."""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from carrel.kernel import Refusal
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.connection import LOCAL_OPTIONS, local_settings, running_url
from carrel.main.cli.output import Screen


def backup(args: Namespace, screen: Screen) -> int:
    """Write a copy of the store as it is now; a server may go on working meanwhile."""
    settings = local_settings(args).settings
    from carrel.storage import back_up

    with _store_faults(), screen.waiting("copying…"):
        back_up(settings.storage.url, args.file)
    screen.line(f"Wrote {args.file} ({args.file.stat().st_size:,} bytes).")
    return Exit.OK


def restore(args: Namespace, screen: Screen) -> int:
    """Fill an empty store from a backup."""
    settings = local_settings(args).settings
    if address := running_url(settings.storage.data_dir):
        raise Failure(Exit.FAILED, f"A server runs at {address}; stop it first.")
    from carrel.storage import restore as fill

    with _store_faults(), screen.waiting("copying…"):
        fill(args.file, settings.storage.url)
    screen.line("Restored. Start the server with `carrel up`.")
    return Exit.OK


def migrate(args: Namespace, screen: Screen) -> int:
    """Bring the store to this version's schema."""
    settings = local_settings(args).settings
    from carrel.storage import migrate as apply_pending

    with _store_faults():
        applied = apply_pending(settings.storage.url)
    for name in applied:
        screen.line(name)
    screen.note(f"{len(applied)} applied." if applied else "Nothing to do; the store is up to date.")
    return Exit.OK


def openapi(args: Namespace, screen: Screen) -> int:
    """Print the description of the API; no server is needed."""
    from carrel.surfaces.api import openapi_document

    screen.out.write(json.dumps(openapi_document(), ensure_ascii=False, indent=2) + "\n")
    return Exit.OK


@contextmanager
def _store_faults() -> Iterator[None]:
    """Let the store refuse in its own words, and put everything else that goes wrong there into a sentence."""
    try:
        yield
    except Refusal:
        raise
    except Exception as fault:  # boundary: the drivers' own exceptions, which only storage may name
        words = (str(fault).partition("\n")[0] or type(fault).__name__).rstrip(".")
        raise Failure(Exit.FAILED, f"The store cannot be worked on: {words}.") from fault


_FILE = option("file", type=Path, metavar="FILE")

COMMANDS = (
    Command("backup", "write a copy of everything", backup, (_FILE, *LOCAL_OPTIONS), asks_server=False),
    Command("restore", "fill an empty store from a backup", restore, (_FILE, *LOCAL_OPTIONS), asks_server=False),
    Command("migrate", "bring the store to this version's schema", migrate, LOCAL_OPTIONS, asks_server=False),
    Command("openapi", "print the description of the API", openapi, asks_server=False),
)

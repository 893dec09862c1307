"""`backup`, `restore`, `migrate` and `openapi`: commands that need no server."""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from carrel.bridge import running_url
from carrel.kernel import Refusal
from carrel.main.cli.command import Command, Exit, Failure, option
from carrel.main.cli.discovery import LOCAL_OPTIONS, local_settings
from carrel.main.cli.output import Screen


def backup(args: Namespace, screen: Screen) -> int:
    """Write a copy of the store; the server may keep running."""
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
        raise Failure(Exit.FAILED, f"A server is running at {address}; stop it first.")
    from carrel.storage import restore as fill

    with _store_faults(), screen.waiting("copying…"):
        fill(args.file, settings.storage.url)
    screen.line("Restored. Start the server with `carrel up`.")
    return Exit.OK


def migrate(args: Namespace, screen: Screen) -> int:
    """Upgrade the store to this version's schema."""
    settings = local_settings(args).settings
    from carrel.storage import migrate as apply_pending

    with _store_faults():
        applied = apply_pending(settings.storage.url)
    for name in applied:
        screen.line(name)
    screen.note(f"{len(applied)} applied." if applied else "The store is up to date.")
    return Exit.OK


def openapi(args: Namespace, screen: Screen) -> int:
    """Print the OpenAPI document."""
    from carrel.main.assembly import whole_document

    screen.out.write(json.dumps(whole_document(), ensure_ascii=False, indent=2) + "\n")
    return Exit.OK


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

COMMANDS = (
    Command("backup", "write a backup of the store", backup, needs_server=False).takes(_FILE, *LOCAL_OPTIONS),
    Command("restore", "fill an empty store from a backup", restore, needs_server=False).takes(_FILE, *LOCAL_OPTIONS),
    Command("migrate", "upgrade the store to this version's schema", migrate, needs_server=False).takes(*LOCAL_OPTIONS),
    Command("openapi", "print the OpenAPI document", openapi, needs_server=False),
)

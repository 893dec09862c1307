"""`import`: what was said in other programs, as entries of the board. Importing again adds only what is new."""

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from carrel.bridge import Client, Refused, read_claude, read_jsonl, read_openclaw
from carrel.main.cli.command import Exit, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen

BATCH_MAX = 100
# Characters of JSON in one request; the server accepts more.
BATCH_CHARS_MAX = 2_000_000
ATTEMPTS_MAX = 8
RETRY_SECONDS = 0.25
_LATER = (429, 503)
Entry = dict[str, Any]
Read = Callable[[Path, Counter[str]], Iterable[Entry]]


def _import(args: Namespace, screen: Screen, *, read: Read) -> int:
    """Read everything once to find mistakes and to count, then send it."""
    path, skipped = Path(args.path).expanduser(), Counter[str]()
    sessions = Counter(str((entry.get("source") or {}).get("sessionKey") or "") for entry in read(path, skipped))
    if not args.dry_run:
        with connect(args) as client:
            _send(client, read(path, Counter()), sessions.total(), screen)
    return _report(args, screen, sessions, skipped)


def _send(client: Client, entries: Iterable[Entry], total: int, screen: Screen) -> None:
    sent = 0
    for batch in _batches(entries):
        _post(client, batch)
        sent += len(batch)
        screen.note(f"{sent} of {total} entries sent")


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    chars = 0
    for entry in entries:
        size = len(entry["content"]) + len(str(entry.get("raw") or ""))
        if batch and (len(batch) == BATCH_MAX or chars + size > BATCH_CHARS_MAX):
            yield batch
            batch, chars = [], 0
        batch.append(entry)
        chars += size
    if batch:
        yield batch


def _post(client: Client, batch: list[Entry]) -> None:
    """Send a batch; while the server has no room, wait a little longer each time."""
    for attempt in range(ATTEMPTS_MAX):
        try:
            client.post("/api/ingest", {"entries": batch})
            return
        except Refused as refused:
            if refused.status not in _LATER or attempt == ATTEMPTS_MAX - 1:
                raise
        time.sleep(RETRY_SECONDS * 2**attempt)


def _report(args: Namespace, screen: Screen, sessions: Counter[str], skipped: Counter[str]) -> int:
    if screen.as_json:
        named = [{"sessionKey": key or None, "entries": count} for key, count in sessions.items()]
        found = {"dryRun": args.dry_run, "entries": sessions.total(), "sessions": named, "skipped": dict(skipped)}
        return screen.json(found)
    if args.dry_run:
        screen.table(("SESSION", "ENTRIES"), list(sessions.items()), empty="Nothing to import.")
    verb = "would be sent" if args.dry_run else "sent; those that were there already are kept once"
    screen.note(f"{sessions.total()} entries of {len(sessions)} sessions {verb}.")
    for reason, count in sorted(skipped.items()):
        screen.note(f"Left out: {count} {reason}.")
    return Exit.OK


_DRY_RUN = option("--dry-run", "", "show what would be imported, and send nothing", action="store_true")
COMMANDS = (
    command("import openclaw", "import the sessions of OpenClaw", partial(_import, read=read_openclaw),
            option("path", "FOLDER", "OpenClaw's folder", nargs="?", default="~/.openclaw"), _DRY_RUN),
    command("import claude", "import the transcripts of Claude Code", partial(_import, read=read_claude),
            option("path", "FOLDER", "Claude Code's folder", nargs="?", default="~/.claude"), _DRY_RUN),
    command("import jsonl", "import entries from a file, one JSON object on each line",
            partial(_import, read=lambda path, _: read_jsonl(path)),
            option("path", "FILE", "the fields of a line are those of POST /api/log"), _DRY_RUN),
)  # fmt: skip

"""The OpenClaw plugin's queue, seen from outside: whether the plugin is alive, and what waits to be sent."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from carrel.bridge.faults import BridgeFault

_BUSY_SECONDS = 5.0
_LOOK = """
SELECT
  (SELECT until FROM sender), (SELECT count(*) FROM waiting), (SELECT count(*) FROM refused),
  (SELECT reason FROM refused ORDER BY id DESC LIMIT 1),
  coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'waiting'), 0)
"""


class OpenClawQueue(NamedTuple):
    """What a queue holds, how much the server has taken, and until when the plugin's lease to send lasts."""

    lease_until_ms: int
    waiting: int
    refused: int
    last_refusal: str
    taken: int


def read_openclaw_queue(path: Path) -> OpenClawQueue | None:
    """Return the state of a queue, None if there is none; the plugin may be writing to it."""
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as db:
            until, waiting, refused, reason, added = db.execute(_LOOK).fetchone()
    except sqlite3.Error as fault:
        raise BridgeFault(f"The queue {path} cannot be read ({fault}).") from fault
    return OpenClawQueue(until or 0, waiting, refused, reason or "", added - waiting - refused)

"""The outbox of a bridge: a SQLite file that keeps entries, in order, until the server has taken them.

Several processes may share a file. All of them add to it; the one that holds the lock beside it sends.
"""

import fcntl
import os
import sqlite3
import threading
from pathlib import Path
from typing import NamedTuple

from carrel.bridge.faults import BridgeFault

# Limits: entries that wait, refused entries that are kept for inspection, and turns that are remembered.
WAITING_MAX = 100_000
REFUSED_MAX = 1_000
TURNS_MAX = 1_000
_BUSY_SECONDS = 10.0
_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS waiting (id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS refused (id INTEGER PRIMARY KEY, body TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answered (session TEXT PRIMARY KEY, id INTEGER NOT NULL);
"""


class Waiting(NamedTuple):
    """An entry that is to be sent: its number, its session, and the body as JSON."""

    id: int
    session: str
    body: str


class Outbox:
    """One queue of entries; every method may be called from any thread."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # What people said is in it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as fault:
            raise BridgeFault(f"The queue {path} cannot be opened ({fault}); choose another queuePath.") from fault
        self._lock = threading.Lock()
        self._held: int | None = None
        self._lock_path = path.with_name(path.name + ".lock")

    def add(self, session: str, body: str, *, answers: bool | None) -> None:
        """Store an entry durably; `answers` says whether it answers its session's turn (False: it begins one)."""
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            (count,) = self._db.execute("SELECT count(*) FROM waiting").fetchone()
            if count >= WAITING_MAX:
                raise BridgeFault(f"{WAITING_MAX} entries wait to be sent; see why the server does not take them.")
            added = self._db.execute("INSERT INTO waiting (session, body) VALUES (?, ?)", (session, body)).lastrowid
            if answers:
                self._db.execute("REPLACE INTO answered (session, id) VALUES (?, ?)", (session, added))
                self._db.execute("DELETE FROM answered WHERE id <= ? - ?", (added, TURNS_MAX))
            elif answers is False:
                self._db.execute("DELETE FROM answered WHERE session = ?", (session,))

    def end_turn(self, session: str) -> bool:
        """Return whether a session's turn was answered, and forget it."""
        with self._lock, self._db:
            return self._db.execute("DELETE FROM answered WHERE session = ?", (session,)).rowcount > 0

    def oldest(self, limit: int) -> list[Waiting]:
        """Return the entries that are to be sent next, in order."""
        with self._lock:
            rows = self._db.execute("SELECT id, session, body FROM waiting ORDER BY id LIMIT ?", (limit,))
            return [Waiting(*row) for row in rows]

    def newest(self) -> int:
        """Return the number of the last entry that waits; 0 when none does."""
        with self._lock:
            (newest,) = self._db.execute("SELECT coalesce(max(id), 0) FROM waiting").fetchone()
            return int(newest)

    def waits(self, upto: int) -> bool:
        """Return whether an entry up to this number still waits."""
        with self._lock:
            return self._db.execute("SELECT 1 FROM waiting WHERE id <= ? LIMIT 1", (upto,)).fetchone() is not None

    def sent(self, upto: int) -> None:
        """Remove the entries up to this number: the server has taken them."""
        with self._lock, self._db:
            self._db.execute("DELETE FROM waiting WHERE id <= ?", (upto,))

    def refuse(self, entry: Waiting, reason: str) -> None:
        """Put an entry aside that the server will never take, so that it holds up no other."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.execute("REPLACE INTO refused VALUES (?, ?, ?)", (entry.id, entry.body, reason))
            self._db.execute("DELETE FROM waiting WHERE id = ?", (entry.id,))
            oldest = "SELECT id FROM refused ORDER BY id DESC LIMIT -1 OFFSET ?"
            self._db.execute(f"DELETE FROM refused WHERE id IN ({oldest})", (REFUSED_MAX,))

    def refused(self) -> list[tuple[str, str]]:
        """Return body and reason of the entries that were put aside, oldest first."""
        with self._lock:
            return list(self._db.execute("SELECT body, reason FROM refused ORDER BY id"))

    def may_send(self) -> bool:
        """Return whether this process sends the file's entries; only one does, and a dead one no longer does."""
        if self._held is None:
            held = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(held)
                return False
            self._held = held
        return True

    def close(self) -> None:
        """Close the file and let another process send."""
        with self._lock:
            self._db.close()
            if self._held is not None:
                os.close(self._held)
                self._held = None

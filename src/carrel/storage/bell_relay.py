"""Relays bells between servers over PostgreSQL: one thread announces ours, one listens for the others'."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg

from carrel.kernel import elapsed_seconds
from carrel.kernel.limits import NOTIFY_PAUSE_MS_MAX, NOTIFY_PAUSE_MS_MIN

Connect = Callable[[], "psycopg.Connection[Any]"]
_CHANNEL = "carrel"
_LISTEN_SECONDS = 5.0
_RECONNECT_SECONDS = 1.0
# An announcement is a commit and wakes every server, so a busy database, which takes long for it, gets fewer.
_PAUSE_PER_SECOND_ANNOUNCED = 5


class BellRelay:
    """Announces our bells and listens for those of other servers, each on its own connection."""

    def __init__(self, connect: Connect, on_bells: Callable[[set[str] | None], None]) -> None:
        self._connect = connect
        self._on_bells = on_bells
        self._waiting: set[str] = set()
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._own_pid = 0
        self._threads = [
            threading.Thread(target=self._keep_connected, args=(duty,), name=f"carrel-{name}", daemon=True)
            for name, duty in (("announcer", self._announce), ("listener", self._listen))
        ]
        for thread in self._threads:
            thread.start()

    def announce(self, names: set[str]) -> None:
        """Announce bells to the other servers soon."""
        with self._changed:
            self._waiting |= names
            self._changed.notify()

    def close(self) -> None:
        """Announce what is queued, then stop both threads."""
        self._closed.set()
        with self._changed:
            self._changed.notify()
        for thread in self._threads:
            thread.join()

    def _keep_connected(self, duty: Callable[[psycopg.Connection[Any]], None]) -> None:
        while not self._closed.is_set():
            try:
                with self._connect() as connection:
                    duty(connection)
            except psycopg.Error:
                # Announcements may have been missed meanwhile, so every task is woken to read the tables.
                self._closed.wait(_RECONNECT_SECONDS)
                self._on_bells(None)

    def _announce(self, connection: psycopg.Connection[Any]) -> None:
        self._own_pid = connection.info.backend_pid
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed.is_set())
                names, self._waiting = self._waiting, set()
            if not names:
                # Wakes our own listener, so that it notices we are closed.
                connection.execute("SELECT pg_notify(%s, '')", (_CHANNEL,))
                return
            begun = elapsed_seconds()
            connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, ",".join(sorted(names))))
            wanted = (elapsed_seconds() - begun) * _PAUSE_PER_SECOND_ANNOUNCED
            self._closed.wait(min(max(NOTIFY_PAUSE_MS_MIN / 1000, wanted), NOTIFY_PAUSE_MS_MAX / 1000))

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(f"LISTEN {_CHANNEL}")
        while not self._closed.is_set():
            for notice in connection.notifies(timeout=_LISTEN_SECONDS, stop_after=1):
                if notice.pid != self._own_pid:
                    self._on_bells(set(notice.payload.split(",")) - {""})

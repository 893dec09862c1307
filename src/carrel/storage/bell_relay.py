"""Ringing across processes: one thread announces on PostgreSQL which bells rang here, one listens for the others'."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg

from carrel.kernel.limits import NOTIFY_PAUSE_MS

Connect = Callable[[], "psycopg.Connection[Any]"]
_CHANNEL = "carrel"
_LISTEN_SECONDS = 5.0
_RECONNECT_SECONDS = 1.0


class Ringer:
    """Announces our bells and hears the others', each on a connection of its own."""

    def __init__(self, connect: Connect, heard: Callable[[set[str] | None], None]) -> None:
        self._connect = connect
        self._heard = heard
        self._waiting: set[str] = set()
        self._wanted = threading.Condition()
        self._closed = threading.Event()
        self._own_pid = 0
        self._threads = [
            threading.Thread(target=self._stay, args=(duty,), name=f"carrel-{name}", daemon=True)
            for name, duty in (("announcer", self._announce), ("listener", self._listen))
        ]
        for thread in self._threads:
            thread.start()

    def announce(self, names: set[str]) -> None:
        """Tell the other processes, soon."""
        with self._wanted:
            self._waiting |= names
            self._wanted.notify()

    def close(self) -> None:
        """Announce what is left and stop both threads."""
        self._closed.set()
        with self._wanted:
            self._wanted.notify()
        for thread in self._threads:
            thread.join()

    def _stay(self, duty: Callable[[psycopg.Connection[Any]], None]) -> None:
        while not self._closed.is_set():
            try:
                with self._connect() as connection:
                    duty(connection)
            except psycopg.Error:
                # Whatever was missed meanwhile is found by looking: wake everyone once we are back.
                self._closed.wait(_RECONNECT_SECONDS)
                self._heard(None)

    def _announce(self, connection: psycopg.Connection[Any]) -> None:
        self._own_pid = connection.info.backend_pid
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._waiting or self._closed.is_set())
                names, self._waiting = self._waiting, set()
            if not names:
                # A last word to nobody in particular: our own listener hears it and sees that we are closed.
                connection.execute("SELECT pg_notify(%s, '')", (_CHANNEL,))
                return
            connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, ",".join(sorted(names))))
            self._closed.wait(NOTIFY_PAUSE_MS / 1000)

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(f"LISTEN {_CHANNEL}")
        while not self._closed.is_set():
            for notice in connection.notifies(timeout=_LISTEN_SECONDS, stop_after=1):
                if notice.pid != self._own_pid:
                    self._heard(set(notice.payload.split(",")) - {""})

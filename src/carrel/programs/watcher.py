"""Ends programs when this process is killed and cannot do it: a small process that waits for the end of a pipe.

A program that reads its input notices by itself that nobody is there. One that does not, or has started others, would
go on: so a watcher is told of every process group, and kills those that are left once its own input has ended.
"""

import subprocess
import sys
from contextlib import suppress
from logging import getLogger
from threading import Lock

_log = getLogger("carrel.programs")
# Reads "+PID" and "-PID"; without packages and without the environment, it takes 10 MB and no time.
_PROGRAM = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Watcher:
    """Started with the first program; another takes its place if it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()
        self._lock = Lock()

    def watch(self, group: int) -> None:
        """End a process group when this process is gone."""
        with self._lock:
            self._groups.add(group)
            if not self._say(f"+{group}"):
                self._start()

    def forget(self, group: int) -> None:
        """The group has ended; another may get its number."""
        with self._lock:
            self._groups.discard(group)
            self._say(f"-{group}")

    def _say(self, line: str) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        assert self._process.stdin is not None, "started with a pipe"
        with suppress(OSError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            return True
        return False

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={},
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            _log.warning("watcher_not_started", extra={"error": error.strerror})
            return
        for group in self._groups:
            self._say(f"+{group}")


WATCHER = Watcher()

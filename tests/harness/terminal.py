"""A command on a pseudo-terminal, and the screen that a person sees of it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte

SECONDS = 20.0
_ROWS = 60


class Terminal:
    """One running command, what it shows and what is typed into it."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path, columns: int) -> None:
        self._screen = pyte.Screen(columns, _ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
        # A session's first process that opens a terminal is controlled by it: Ctrl-C interrupts the command.
        opened = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(theirs), *command]
        # What a shell runs in the background ignores interrupts, and so would all that it starts.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._process = subprocess.Popen(opened, cwd=folder, env=environment, start_new_session=True)
        finally:
            signal.signal(signal.SIGINT, before)
        # Kept open until something was read: before the command has opened it, reading would fail.
        self._theirs = [theirs]

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, from the top to the last one that shows anything."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")

    def type(self, words: str) -> None:
        """Type a line and press Enter."""
        os.write(self._fd, f"{words}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._fd, b"\x03")

    def wait_for(self, words: str) -> list[str]:
        """Return the lines of the screen once the words are on it."""
        return self.wait_until(lambda lines: words in "\n".join(lines), f"'{words}' did not appear")

    def wait_until(self, is_met: Callable[[list[str]], bool], otherwise: str) -> list[str]:
        """Return the lines of the screen once they meet the condition."""
        until = time.monotonic() + SECONDS
        while not is_met(self.lines):
            if not self._read(until):
                raise AssertionError(f"{otherwise}; the screen:\n" + "\n".join(self.lines))
        return self.lines

    def ended(self) -> int:
        """Wait until the command has ended and return its exit status; the screen stays."""
        until = time.monotonic() + SECONDS
        while self._read(until):
            pass
        return self._process.wait(SECONDS)

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(SECONDS)
        os.close(self._fd)
        self._close_theirs()

    def _close_theirs(self) -> None:
        while self._theirs:
            os.close(self._theirs.pop())

    def _read(self, until: float) -> bool:
        """Show what the command wrote next; False if it writes nothing more, or nothing in time."""
        ready, _, _ = select.select([self._fd], [], [], max(0.0, until - time.monotonic()))
        try:
            written = os.read(self._fd, 65_536) if ready else b""
        except OSError:
            # Nobody has the other end open any more.
            return False
        self._close_theirs()
        self._stream.feed(written)
        return bool(written)


@contextmanager
def on_terminal(command: list[str], environment: dict[str, str], folder: Path, columns: int = 80) -> Iterator[Terminal]:
    """Run a command on a terminal with colours; one that is still running at the end is killed."""
    seen = {name: value for name, value in environment.items() if name not in ("NO_COLOR", "COLUMNS")}
    terminal = Terminal(command, seen | {"TERM": "xterm-256color"}, folder, columns)
    try:
        yield terminal
    finally:
        terminal.close()

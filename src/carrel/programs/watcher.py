"""Runs one program, and ends it with everything that it has started when whoever wanted it is gone or has let go.

A process of its own, which imports the standard library alone: `watcher.py LINE SECONDS COMMAND [ARGUMENT...]`. LINE is
one end of a connection. The pid of the program is written to it, or why it was not started. Once the other end is
closed, as it is when its owner is killed, the program is told to end, and killed SECONDS later. On Linux what it has
started is found even where that has left its process group.
"""

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127
# More signals than come at once.
_NOTICES_READ = 1_024


class Started:
    """The program, and its exit code once it has ended."""

    def __init__(self, command: list[str]) -> None:
        # A group of its own. Python ignores these two signals, and what is ignored is inherited.
        usual = (signal.SIGPIPE, signal.SIGXFSZ)
        self.pid = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=usual)
        self.code: int | None = None

    def collect(self, *, wait: bool = False) -> None:
        """Collect processes that have ended: the program and those left to us; with `wait`, at least one."""
        with suppress(ChildProcessError):
            found, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
            while found:
                if found == self.pid:
                    code = os.waitstatus_to_exitcode(status)
                    self.code = code if code >= 0 else 128 - code
                found, status = os.waitpid(-1, os.WNOHANG)

    def signal(self, number: int) -> None:
        """Send a signal to its group, which may have members after the program itself has ended."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def main(line: int, seconds: int, command: list[str]) -> int:
    """Run a program to its end and return its exit code."""
    os.set_inheritable(line, False)
    _adopt_orphans()
    notices = _notices()
    try:
        started = Started(command)
    except OSError as error:
        _reply(line, error.strerror or str(error))
        return _NOT_STARTED
    _close_streams()
    _reply(line, str(started.pid))
    _wait(started, line, notices)
    if started.code is None:
        _tell_to_end(started, seconds, notices)
    _kill_rest(started)
    return _NOT_STARTED if started.code is None else started.code


def _adopt_orphans() -> None:
    """Become the parent of whatever the program leaves behind."""
    with suppress(ImportError, OSError, AttributeError):
        from ctypes import CDLL

        CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _notices() -> int:
    """Return a file descriptor from which the numbers of signals can be read."""
    notices, noticed = os.pipe()
    os.set_blocking(noticed, False)
    signal.set_wakeup_fd(noticed, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, lambda *_: None)
    return notices


def _reply(line: int, text: str) -> None:
    # Nobody may be there any more, which is seen next.
    with suppress(OSError):
        os.write(line, text.encode())


def _close_streams() -> None:
    """Leave the program's streams to it alone, so that their end is seen."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _wait(started: Started, line: int, notices: int) -> None:
    """Wait until the program has ended or nobody wants it any more."""
    ready: list[int] = []
    while started.code is None and line not in ready:
        ready = select.select([line, notices], [], [])[0]
        if notices in ready:
            os.read(notices, _NOTICES_READ)
        started.collect()


def _tell_to_end(started: Started, seconds: int, notices: int) -> None:
    started.signal(signal.SIGTERM)
    signal.alarm(seconds)
    while started.code is None and signal.SIGALRM not in os.read(notices, _NOTICES_READ):
        started.collect()


def _kill_rest(started: Started) -> None:
    started.signal(signal.SIGKILL)
    # The children of one that is killed are ours after it.
    while left := _children():
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        started.collect(wait=True)
    started.collect()


def _children() -> list[int]:
    """Return our children, ended or not; none where the system does not say."""
    try:
        return [int(pid) for pid in Path("/proc/thread-self/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))

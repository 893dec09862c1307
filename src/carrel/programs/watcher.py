"""Runs one program, and ends it with everything it started when its owner is gone or closes the connection.

A separate process that imports only the standard library: `watcher.py LINE SECONDS COMMAND [ARGUMENT...]`. LINE is one
end of a connection, to which the program's pid is written, or why it was not started. Once the other end is closed, as
it is when its owner is killed, the program is asked to end, and killed SECONDS later. On Linux, processes that it
started are found even if they left its process group.
"""

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127
# More signals than can arrive at once.
_NOTICES_READ = 1_024


class Started:
    """The program, and its exit code once it has ended."""

    def __init__(self, command: list[str]) -> None:
        # A process group of its own. Python ignores these two signals, and a child would inherit that.
        usual = (signal.SIGPIPE, signal.SIGXFSZ)
        self.pid = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=usual)
        self.code: int | None = None

    def collect(self, *, wait: bool = False) -> None:
        """Collect processes that have ended: the program and its orphans; with `wait`, at least one."""
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
    """Become the parent of any process that the program leaves behind."""
    with suppress(ImportError, OSError, AttributeError):
        from ctypes import CDLL

        CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _notices() -> int:
    """Return a file descriptor from which signal numbers can be read."""
    notices, noticed = os.pipe()
    os.set_blocking(noticed, False)
    signal.set_wakeup_fd(noticed, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, lambda *_: None)
    return notices


def _reply(line: int, text: str) -> None:
    # The reader may be gone, which the next step notices.
    with suppress(OSError):
        os.write(line, text.encode())


def _close_streams() -> None:
    """Close our copies of the program's streams, so that their end is seen."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _wait(started: Started, line: int, notices: int) -> None:
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
    # Children of a killed process become ours.
    while left := _children():
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        started.collect(wait=True)
    started.collect()


def _children() -> list[int]:
    """Return our children, ended or not; none where the system does not tell."""
    try:
        return [int(pid) for pid in Path("/proc/thread-self/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))

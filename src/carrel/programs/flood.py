"""A rate limit on what a program or server sends: a flood is cut off before it takes time from others."""

from carrel.kernel import elapsed_seconds
from carrel.programs.model import ProgramFault


class FloodGuard:
    """Counts what is received within a few seconds; raises ProgramFault if it is too much."""

    def __init__(self, *, messages_max: int, bytes_max: int, seconds: int) -> None:
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._seconds = seconds
        self._since = elapsed_seconds()
        self._bytes = 0
        self._unasked = 0

    def asked(self) -> None:
        """Allow one more message: the answer to a request."""
        self._unasked -= 1

    def received(self, *, messages: int = 0, size: int = 0) -> None:
        """Count messages and bytes."""
        now = elapsed_seconds()
        if now - self._since > self._seconds:
            self._since, self._bytes, self._unasked = now, 0, min(0, self._unasked)
        self._bytes += size
        self._unasked += messages
        if self._bytes > self._bytes_max:
            raise ProgramFault(f"It sent more than {self._bytes_max} bytes in {self._seconds} seconds.")
        if self._unasked > self._messages_max:
            message = f"It sent more than {self._messages_max} unsolicited messages in {self._seconds} seconds."
            raise ProgramFault(message)

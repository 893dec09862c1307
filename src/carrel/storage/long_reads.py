"""Long reads: work that takes more than microseconds, on connections and threads of its own, within a deadline.

The loop and the writer continue meanwhile. A read ends early when its time is up or its caller is gone.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Generic, Protocol, TypeVar

from carrel.kernel import Code, Refusal, elapsed_seconds
from carrel.storage.database import LongTx
from carrel.storage.workers import Workers

T = TypeVar("T")
ConnectionType = TypeVar("ConnectionType", bound="Closeable")
_CANCEL_AGAIN_SECONDS = 0.1


class Closeable(Protocol):
    """A connection, as far as this module uses it."""

    def close(self) -> None:
        """Close the connection."""
        ...


class Deadline:
    """When a read must end: when its time is up, or at once when nobody waits for it any more."""

    def __init__(self, seconds_max: float) -> None:
        self.seconds_max = seconds_max
        self._ends_at = elapsed_seconds() + seconds_max
        self._abandoned = False
        # How to cancel the statement that is being executed, if there is one.
        self._cancel: Callable[[], None] | None = None
        self._reading = threading.Condition()

    @contextmanager
    def cancelled_by(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Let `cancel` end the current statement if the caller leaves during this block."""
        self._cancel = cancel
        try:
            yield
        finally:
            # Wait for a cancellation in progress: otherwise it would hit the next read on this connection.
            with self._reading:
                self._cancel = None
                self._reading.notify()

    def abandon(self) -> bool:
        """Let the read end at its next check; True if `stop` must cancel its statement as well."""
        self._abandoned = True
        return self._cancel is not None

    def stop(self) -> None:
        """Cancel the statements of an abandoned read until it has ended. Blocks; call it in a thread."""
        with self._reading:
            while self._cancel is not None:
                # A statement that has not reached the database cannot be cancelled yet, so try again.
                self._cancel()
                self._reading.wait(_CANCEL_AGAIN_SECONDS)

    @property
    def seconds_left(self) -> float:
        """How much time is left; 0 if the read must end."""
        return 0 if self._abandoned else max(0, self._ends_at - elapsed_seconds())

    @property
    def passed(self) -> bool:
        """Whether the read must end."""
        return not self.seconds_left

    def refusal(self) -> Refusal:
        """The error for the caller of a read that took too long."""
        why = f"The database took longer than {self.seconds_max:g} s to answer; ask for less, or try again."
        return Refusal(Code.STORAGE_UNAVAILABLE, why)

    def check(self) -> None:
        """Raise once the read must end."""
        if self.passed:
            raise self.refusal()


class LongReads(Generic[ConnectionType]):
    """A few threads with a connection each, created on first use."""

    def __init__(
        self,
        connect: Callable[[], ConnectionType],
        read: Callable[[ConnectionType, Callable[[LongTx], T], Deadline], T],
        threads: int,
    ) -> None:
        self._connect = connect
        self._read = read
        self._local = threading.local()
        self._connections: list[ConnectionType] = []
        self._lock = threading.Lock()
        self._workers = Workers(threads, "carrel-long-read")

    async def run(self, work: Callable[[LongTx], T], seconds_max: float) -> T:
        """Do `work` in a thread; raise Refusal if it takes too long."""
        deadline = Deadline(seconds_max)
        try:
            async with asyncio.timeout(seconds_max):
                return await self._workers.do(partial(self._do, work, deadline))
        except TimeoutError:
            raise deadline.refusal() from None
        finally:
            # Nobody waits any more, so a read in progress may stop.
            if deadline.abandon():
                asyncio.get_running_loop().run_in_executor(None, deadline.stop)

    def _do(self, work: Callable[[LongTx], T], deadline: Deadline) -> T:
        deadline.check()
        return self._read(self._connection(), work, deadline)  # type: ignore[arg-type, return-value]

    def _connection(self) -> ConnectionType:
        connection: ConnectionType | None = getattr(self._local, "connection", None)
        if connection is None or getattr(connection, "closed", False):
            connection = self._local.connection = self._connect()
            with self._lock:
                self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Wait for running reads and close the connections. Blocks; call it in a thread."""
        self._workers.close(drop=True)
        for connection in self._connections:
            connection.close()

"""Long reads: work that takes more than microseconds, on connections and threads of its own, within a deadline.

The loop and the writer go on meanwhile. A read ends early when its time is up or its caller has gone.
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
    """A connection, as far as it is known here."""

    def close(self) -> None:
        """Let go of it."""
        ...


class Deadline:
    """When a read must be over: once its time is up, or at once when nobody waits for it any more."""

    def __init__(self, seconds_max: float) -> None:
        self.seconds_max = seconds_max
        self._ends_at = elapsed_seconds() + seconds_max
        self._abandoned = False
        # How to end a statement that is being executed elsewhere, while one may be.
        self._cancel: Callable[[], None] | None = None
        self._reading = threading.Condition()

    @contextmanager
    def cancelled_by(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Let `cancel` end the statement that is being executed, should the caller go during this block."""
        self._cancel = cancel
        try:
            yield
        finally:
            # A cancellation that is under way is waited for, or it would hit the next read on the same connection.
            with self._reading:
                self._cancel = None
                self._reading.notify()

    def abandon(self) -> bool:
        """Let the read end at its next check; True when `stop` must end what it does until then."""
        self._abandoned = True
        return self._cancel is not None

    def stop(self) -> None:
        """Cancel what an abandoned read executes until it has ended. Blocks; call it in a thread."""
        with self._reading:
            while self._cancel is not None:
                # Before the statement has reached the database there is nothing to cancel, so it is tried again.
                self._cancel()
                self._reading.wait(_CANCEL_AGAIN_SECONDS)

    @property
    def seconds_left(self) -> float:
        """How much time is left; 0 when the read must end."""
        return 0 if self._abandoned else max(0, self._ends_at - elapsed_seconds())

    @property
    def passed(self) -> bool:
        """True when the read must end."""
        return not self.seconds_left

    def refusal(self) -> Refusal:
        """What the caller of a read that took too long is told."""
        why = f"The database took longer than {self.seconds_max:g} s to answer; ask for less, or try again."
        return Refusal(Code.STORAGE_UNAVAILABLE, why)

    def check(self) -> None:
        """Raise once the read must end."""
        if self.passed:
            raise self.refusal()


class LongReads(Generic[ConnectionType]):
    """A few threads with a connection each, made when they are first needed."""

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
        """Do `work` in a thread; Refusal when it is not done in time."""
        deadline = Deadline(seconds_max)
        try:
            async with asyncio.timeout(seconds_max):
                return await self._workers.do(partial(self._do, work, deadline))
        except TimeoutError:
            raise deadline.refusal() from None
        finally:
            # Nobody waits any more, so whatever still reads may stop.
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
        """Wait for what is being read and let go of the connections. Blocks; call it in a thread."""
        self._workers.close(drop=True)
        for connection in self._connections:
            connection.close()

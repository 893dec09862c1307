"""Long reads: work that takes more than microseconds, on connections and threads of its own, within a deadline.

The loop and the writer continue meanwhile. A read ends early when its time is up or its caller is gone.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from carrel.kernel import Code, Refusal, elapsed_seconds

T = TypeVar("T")
_Future = asyncio.Future[object]
_Item = tuple[_Future | None, Callable[[], object]]
ConnectionType = TypeVar("ConnectionType", bound="Closeable")
_CANCEL_AGAIN_SECONDS = 0.1


class Workers:
    """A few threads, each started when all others are busy. Use them from the loop that created them."""

    def __init__(self, threads_max: int, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads_max = threads_max
        self._name = name
        self._threads: list[threading.Thread] = []
        # How many work items have not been answered yet.
        self._unanswered = 0
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()

    async def do(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; it is not started if its caller is gone."""
        future: _Future = self._loop.create_future()
        self._unanswered += 1
        if len(self._threads) < min(self._unanswered, self._threads_max):
            thread = threading.Thread(target=self._serve, name=f"{self._name}_{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._queue.put((future, work))
        return await future  # type: ignore[return-value]

    def add(self, work: Callable[[], object]) -> None:
        """Run `work`, which must not raise, without a result. Any of the threads may call this."""
        self._queue.put((None, work))

    def close(self, *, drop: bool = False) -> None:
        """Finish all work, or with `drop` only what was started. Blocks; call it in a thread."""
        while drop:
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
            if item is not None and item[0] is not None:
                self._loop.call_soon_threadsafe(item[0].cancel)
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            future, work = item
            if future is None:
                work()
            else:
                self._work(future, work)
            # Do not keep them alive until the next work comes.
            del item, future, work

    def _work(self, future: _Future, work: Callable[[], object]) -> None:
        result: object = None
        error: BaseException | None = None
        try:
            if not future.cancelled():
                result = work()
        except BaseException as raised:  # boundary: the error belongs to the caller
            error = raised
        self._loop.call_soon_threadsafe(self._answer, future, result, error)

    def _answer(self, future: _Future, result: object, error: BaseException | None) -> None:
        self._unanswered -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class Closeable(Protocol):
    """A connection, as far as this module uses it."""

    def close(self) -> None:
        """Close the connection."""


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
        if self.passed:
            raise self.refusal()


class LongReads(Generic[ConnectionType]):
    """A few threads with a connection each, created on first use."""

    def __init__(self, connect: Callable[[], ConnectionType], threads: int) -> None:
        self._connect = connect
        self._local = threading.local()
        self._connections: list[ConnectionType] = []
        self._lock = threading.Lock()
        self._workers = Workers(threads, "carrel-long-read")

    async def run(self, read: Callable[[ConnectionType, Deadline], T], seconds_max: float) -> T:
        """Call `read` in a thread; raise Refusal if it takes too long."""
        deadline = Deadline(seconds_max)
        try:
            async with asyncio.timeout(seconds_max):
                return await self._workers.do(partial(self._do, read, deadline))
        except TimeoutError:
            raise deadline.refusal() from None
        finally:
            # Nobody waits any more, so a read in progress may stop.
            if deadline.abandon():
                asyncio.get_running_loop().run_in_executor(None, deadline.stop)

    def _do(self, read: Callable[[ConnectionType, Deadline], T], deadline: Deadline) -> T:
        deadline.check()
        return read(self._connection(), deadline)

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

"""Threads that do blocking work for the loop, with less overhead than the standard library's executor."""

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
_Future = asyncio.Future[object]
_Item = tuple[_Future | None, Callable[[], object]]


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

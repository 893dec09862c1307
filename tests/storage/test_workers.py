"""The threads that do blocking work for the loop."""

import asyncio
import threading
from functools import partial

import pytest

from carrel.storage.long_reads import Workers

WAIT_SECONDS = 10


def fail() -> None:
    raise ValueError("no")


async def test_work_is_done_in_as_many_threads_as_are_needed_and_allowed() -> None:
    workers, meeting = Workers(2, "test"), threading.Barrier(2)
    try:
        assert await workers.do(threading.get_ident) == await workers.do(threading.get_ident)
        met = [workers.do(partial(meeting.wait, WAIT_SECONDS)) for _ in range(6)]
        assert sorted(await asyncio.gather(*met)) == [0, 0, 0, 1, 1, 1]
        assert len({await workers.do(threading.get_ident) for _ in range(4)}) <= 2
    finally:
        await asyncio.to_thread(workers.close)


async def test_what_work_raises_is_raised_where_it_is_awaited() -> None:
    workers = Workers(1, "test")
    with pytest.raises(ValueError, match="no"):
        await workers.do(fail)
    assert await workers.do(lambda: 1) == 1
    await asyncio.to_thread(workers.close)


async def test_work_is_not_begun_for_a_caller_that_has_gone() -> None:
    workers, go, done = Workers(1, "test"), threading.Event(), list[str]()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(workers.do(partial(go.wait, WAIT_SECONDS)))
        second = group.create_task(workers.do(partial(done.append, "second")))
        group.create_task(workers.do(partial(done.append, "third")))
        await asyncio.sleep(0)
        second.cancel()
        go.set()
    assert first.result()
    assert done == ["third"]
    await asyncio.to_thread(workers.close)


@pytest.mark.parametrize("drop", [False, True])
async def test_closing_finishes_what_was_given_unless_that_is_dropped(*, drop: bool) -> None:
    workers, begun, go, done = Workers(1, "test"), threading.Event(), threading.Event(), list[str]()

    def hold() -> None:
        begun.set()
        go.wait(WAIT_SECONDS)
        done.append("begun")

    first, second = (asyncio.ensure_future(workers.do(work)) for work in (hold, partial(done.append, "given")))
    await asyncio.to_thread(begun.wait, WAIT_SECONDS)
    closing = asyncio.ensure_future(asyncio.to_thread(partial(workers.close, drop=drop)))
    if drop:
        await asyncio.wait([second], timeout=WAIT_SECONDS)
    go.set()
    await closing
    await asyncio.wait([first, second], timeout=WAIT_SECONDS)
    assert done == (["begun"] if drop else ["begun", "given"])
    assert second.cancelled() is drop

"""Following a response from its acceptance to its end, as events or just until it rests."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from carrel.delivery import Words
from carrel.kernel import Access, elapsed_seconds
from carrel.kernel.limits import RESPONSE_WAIT_SECONDS_MAX, SAFETY_POLL_SECONDS, STREAM_PING_SECONDS
from carrel.storage import Bell
from carrel.surfaces.http.house import House
from carrel.surfaces.responses.events import Hearing, Telling
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.resource import Seen, look_for, render, see, status_of
from carrel.surfaces.responses.store import Response

_TOLD = "told"
_ENDS = {"completed": "response.completed", "failed": "response.failed"}
Events = AsyncGenerator[Json | None, None]


async def rest_of(house: House, access: Access, response: Response) -> Seen:
    """The response once it rests, or as it is when the time is up or the server stops."""
    deadline = elapsed_seconds() + RESPONSE_WAIT_SECONDS_MAX
    with house.watch.bell(access.account_id, response.run_id) as bell:
        while True:
            version = bell.version
            seen = await house.db.read(partial(see, access=access, response=response))
            if seen.rests or elapsed_seconds() >= deadline or house.closing.is_set():
                return seen
            await bell.wait(version, SAFETY_POLL_SECONDS)


async def follow(house: House, access: Access, response: Response, words: Words | None) -> Events:
    """Every event of a response, exactly one of them its end; None now and then, as a sign of life.

    `words` are what its run says live, gathered from before it began; without them text comes whole once it is stored.
    """
    telling = Telling(response.id)
    with house.watch.bell(access.account_id, response.run_id) as bell:
        seen = await house.db.read(partial(see, access=access, response=response))
        # Whether it waits behind others; the head of a lane is as good as begun.
        is_queued = status_of(seen) == "queued" and seen.run.due_at is None
        status = "queued" if is_queued else "in_progress"
        yield telling.event("response.created", response=_begun(seen, status))
        if is_queued:
            yield telling.event("response.queued", response=_begun(seen, "queued"))
        version = step = None
        while True:
            rung, heard, hearing = bell.version, _version(words), _hearing(words)
            # A new step means that what the last one said is stored by now, and must be told first.
            if rung != version or (hearing is not None and hearing.step != step):
                version, step = rung, None if hearing is None else hearing.step
                found = await house.db.read(partial(look_for, access=access, response=response))
                if found is None:
                    for event in telling.abandon():
                        yield event
                    yield _end(telling, seen, "cancelled")
                    return
                seen = found
                if status != _TOLD and status_of(seen) != "queued":
                    status = _TOLD
                    yield telling.event("response.in_progress", response=_begun(seen, "in_progress"))
                for event in telling.settle(seen.items, hearing):
                    yield event
                if seen.rests:
                    for event in telling.abandon():
                        yield event
                    yield _end(telling, seen)
                    return
            for event in telling.live(hearing):
                yield event
            await _either(bell, rung, words, heard)
            if bell.version == rung and _version(words) == heard:
                version = None
                yield None


def _version(words: Words | None) -> int:
    return 0 if words is None else words.bell.version


def _hearing(words: Words | None) -> Hearing | None:
    return None if words is None else Hearing(words.step, words.text)


def _begun(seen: Seen, status: str) -> Json:
    return render(seen, status=status, output=[])


def _end(telling: Telling, seen: Seen, status: str | None = None) -> Json:
    whole = render(seen, status=status, output=telling.items)
    return telling.event(_ENDS.get(whole["status"], "response.incomplete"), response=whole)


async def _either(bell: Bell, rung: int, words: Words | None, heard: int) -> None:
    """Return once something was told of the run or is said by it, or it is time for a sign of life."""
    if words is None:
        await bell.wait(rung, STREAM_PING_SECONDS)
        return
    async with asyncio.TaskGroup() as group:
        waits = {
            group.create_task(bell.wait(rung, STREAM_PING_SECONDS)),
            group.create_task(words.bell.wait(heard, STREAM_PING_SECONDS)),
        }
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

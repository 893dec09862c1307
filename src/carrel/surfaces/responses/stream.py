"""Follows a response from its creation to its end, as events or just until it is over."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from carrel.delivery import Words
from carrel.kernel import Access, elapsed_seconds
from carrel.kernel.limits import RESPONSE_WAIT_SECONDS_MAX, SAFETY_POLL_SECONDS, STREAM_PING_SECONDS
from carrel.storage import Bell
from carrel.surfaces.http.house import House
from carrel.surfaces.responses.events import EventWriter
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.resource import ResponseState, find_state, render, state_of, status_of
from carrel.surfaces.responses.store import Response

_ANNOUNCED = "announced"
_ENDS = {"completed": "response.completed", "failed": "response.failed"}
Events = AsyncGenerator[Json | None, None]


async def wait_for_rest(house: House, access: Access, response: Response) -> ResponseState:
    """Return the response once it is over, or as it is when its run is held, the time is up or the server stops."""
    deadline = elapsed_seconds() + RESPONSE_WAIT_SECONDS_MAX
    with house.watch.bell(access.account_id, response.run_id) as bell:
        while True:
            version = bell.version
            state = await house.db.read(partial(state_of, access=access, response=response))
            if state.rests or state.is_held or elapsed_seconds() >= deadline or house.closing.is_set():
                return state
            await bell.wait(version, SAFETY_POLL_SECONDS)


async def follow(house: House, access: Access, response: Response, words: Words | None) -> Events:
    """Yield every event of a response, exactly one of which ends it; None now and then, as a keepalive.

    `words` is the live text of its run, gathered from the start; without it, text comes complete once it is stored.
    """
    writer = EventWriter(response.id, words)
    with house.watch.bell(access.account_id, response.run_id) as bell:
        state = await house.db.read(partial(state_of, access=access, response=response))
        # Queued means behind other runs; the head of a lane is about to start.
        is_queued = status_of(state) == "queued" and state.run.due_at is None
        status = "queued" if is_queued else "in_progress"
        yield writer.event("response.created", response=_begun(state, status))
        if is_queued:
            yield writer.event("response.queued", response=_begun(state, "queued"))
        version = step = None
        was_held = False
        while True:
            run_version, text_version = bell.version, _version(words)
            speaking = None if words is None else words.step
            # A new step means that the text of the last one is stored by now, and must be sent first.
            if run_version != version or speaking != step:
                version, step = run_version, speaking
                found = await house.db.read(partial(find_state, access=access, response=response))
                if found is None:
                    for event in writer.abandon():
                        yield event
                    yield _end(writer, state, "cancelled")
                    return
                state = found
                if state.is_held and not was_held:
                    yield writer.event("response.queued", response=_begun(state, "queued"))
                was_held = state.is_held
                if status != _ANNOUNCED and status_of(state) != "queued":
                    status = _ANNOUNCED
                    yield writer.event("response.in_progress", response=_begun(state, "in_progress"))
                for event in writer.send_stored(state.items, step):
                    yield event
                if state.rests:
                    for event in writer.abandon():
                        yield event
                    yield _end(writer, state)
                    return
            # On PostgreSQL, text may arrive before the news that its run has started.
            for event in writer.send_live(step) if status == _ANNOUNCED else ():
                yield event
            await _either(bell, run_version, words, text_version)
            if bell.version == run_version and _version(words) == text_version:
                version = None
                yield None


def _version(words: Words | None) -> int:
    return 0 if words is None else words.bell.version


def _begun(state: ResponseState, status: str) -> Json:
    return render(state, status=status, output=[])


def _end(writer: EventWriter, state: ResponseState, status: str | None = None) -> Json:
    whole = render(state, status=status, output=writer.items)
    return writer.event(_ENDS.get(whole["status"], "response.incomplete"), response=whole)


async def _either(bell: Bell, run_version: int, words: Words | None, text_version: int) -> None:
    """Return once there is news of the run or live text, or it is time for a sign of life."""
    if words is None:
        await bell.wait(run_version, STREAM_PING_SECONDS)
        return
    async with asyncio.TaskGroup() as group:
        waits = {
            group.create_task(bell.wait(run_version, STREAM_PING_SECONDS)),
            group.create_task(words.bell.wait(text_version, STREAM_PING_SECONDS)),
        }
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

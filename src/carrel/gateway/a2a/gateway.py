"""A remote agent behind A2A: a step is a message to it, and its answer is what came of the work it made of that.

The remote keeps the talk, under a name that each generation of a session has of its own. Nothing is kept here: what is
open at the remote is read from the step, so that any server can take the next one.
"""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from carrel.a2a import RemoteRun
from carrel.gateway.a2a.answers import answer_of, finished, kept_message, spoken
from carrel.gateway.a2a.connection import Reach, Remote
from carrel.gateway.a2a.faults import RemoteFaults
from carrel.gateway.a2a.message import MESSAGE, Saying, read_step
from carrel.gateway.answers import whole_characters
from carrel.gateway.model import GatewayFault, Item, OnText, Step, StepAnswer
from carrel.kernel.settings import GatewaySettings
from carrel.wire import StreamedReply, Wire, WireFault

CALL_OFF_SECONDS = 3.0
HISTORY_MAX = 50
LOOK_FIRST_SECONDS = 0.1
LOOK_MAX_SECONDS = 2.0
LOOK_GROWTH = 1.5
LOOKS_FAILED_MAX = 5
LOOKS_FOR_NAME_MAX = 5
SAID_AGAIN_MAX = 5
_STREAM_TYPE = "text/event-stream"


@dataclass(eq=False)
class _Visit:
    """One step at the remote: what is said there, and what is known of the run that came of it."""

    saying: Saying
    on_text: OnText
    remote: Remote
    run: RemoteRun = field(default_factory=RemoteRun)
    is_begun: bool = False
    has_spoken: bool = False

    def hear(self, event: Item) -> None:
        """Take in what the remote says, and hand its text on."""
        self.speak(self.run.take(event))

    def speak(self, text: str) -> None:
        """Hand text on to whoever listens."""
        if text:
            self.on_text(whole_characters(text))
            self.has_spoken = True


class A2aGateway:
    """Takes steps at the agent whose card is found by `base_url`."""

    def __init__(self, name: str, settings: GatewaySettings, wire: Wire) -> None:
        self.name = name
        self._settings = settings
        self._faults = RemoteFaults(name, settings.api_key)
        self._reach = Reach(settings, wire, self._faults)

    async def take(self, step: Step, on_text: OnText) -> StepAnswer:
        """What the remote agent made of the step; cancelling calls its work off."""
        saying = read_step(step)
        if saying.is_going_on and saying.last_kind == MESSAGE:
            return finished(spoken(kept_message(saying)), saying, "", self._faults)
        try:
            visit = _Visit(saying, on_text, await self._reach.remote())
            return await self._bounded(visit)
        except GatewayFault:
            self._reach.forget()
            raise

    async def check(self) -> bool:
        """Whether the agent's card can be read and leads somewhere."""
        try:
            self._reach.remember(await self._reach.look())
        except GatewayFault:
            return False
        return True

    async def models(self) -> tuple[str, ...]:
        """None: which model a remote agent uses is its own affair."""
        return ()

    async def close(self) -> None:
        """Nothing is held between steps."""

    async def _bounded(self, visit: _Visit) -> StepAnswer:
        seconds = self._settings.timeout_seconds
        bound = asyncio.timeout(seconds)
        try:
            async with bound:
                return await self._visit(visit)
        except TimeoutError:
            if not bound.expired():
                raise
            await self._call_off(visit)
            raise self._faults.of_time(seconds, is_begun=visit.is_begun) from None
        except asyncio.CancelledError:
            await self._call_off(visit)
            raise

    async def _visit(self, visit: _Visit) -> StepAnswer:
        saying = visit.saying
        if saying.remote_id:
            await self._look(visit, saying.remote_id, history=HISTORY_MAX)
        if not saying.remote_id or (not saying.is_going_on and _is_unheard(visit.run, saying)):
            await self._say(visit)
            if visit.run.has_files and visit.run.id:
                # Pieces of a stream may be put together otherwise than the remote does it, and it is asked again later.
                await self._look(visit, visit.run.id)
        await self._follow(visit)
        answer = answer_of(visit.run, saying, visit.remote.name, self._faults)
        if not visit.has_spoken and not saying.is_going_on:
            visit.speak(answer.text)
        return answer

    async def _say(self, visit: _Visit) -> None:
        """Say it, under another name where the same was said and called off before, as when a server is stopped."""
        saying, context_id = visit.saying, visit.run.context_id or visit.saying.context_id
        known = {"taskId": saying.remote_id} if saying.remote_id else {}
        for again in range(SAID_AGAIN_MAX):
            message = {"messageId": saying.message_id(again), "contextId": context_id, **known}
            visit.run = RemoteRun()
            if not await self._send(visit, {**message, "role": "ROLE_USER", "parts": saying.parts}):
                return

    async def _send(self, visit: _Visit, message: Item) -> bool:
        """Send it and hear what comes; whether that is the end of an earlier sending that was called off."""
        speech = visit.remote.speech
        request = speech.send(message, stream=visit.remote.is_streaming and self._settings.stream)
        visit.is_begun = True
        try:
            async with self._reach.stream(visit.remote, request) as reply:
                if reply.status == HTTPStatus.OK and reply.media_type == _STREAM_TYPE:
                    return await self._hear_stream(visit, reply)
                visit.hear(await self._reach.understand(reply, speech.read_sent))
        except WireFault as fault:
            # A line that is cut cuts no work off: what is known by name is looked at instead.
            if not visit.run.id:
                raise self._faults.of_wire(fault) from None
        return False

    async def _hear_stream(self, visit: _Visit, reply: StreamedReply) -> bool:
        first_state = ""
        async with aclosing(reply.events()) as events:
            async for event in events:
                visit.hear(self._reach.understand_event(event.text, visit.remote))
                first_state = first_state or visit.run.state
                if visit.run.is_resting:
                    break
        await reply.drain()
        if not first_state:
            raise self._faults.of_silence()
        return first_state == "canceled"

    async def _follow(self, visit: _Visit) -> None:
        """Look at the run now and then until it rests."""
        failed, seconds = 0, LOOK_FIRST_SECONDS
        while not visit.run.is_resting:
            await asyncio.sleep(seconds)
            seconds = min(seconds * LOOK_GROWTH, LOOK_MAX_SECONDS)
            try:
                await self._look(visit, visit.run.id)
                failed = 0
            except GatewayFault as fault:
                failed += 1
                if not fault.retryable or failed > LOOKS_FAILED_MAX:
                    raise

    async def _look(self, visit: _Visit, task_id: str, *, history: int = 0) -> None:
        visit.run.take({"task": await self._reach.task(visit.remote, task_id, history=history)})
        visit.is_begun = True

    async def _call_off(self, visit: _Visit) -> None:
        """Tell the remote that nobody waits any more; a remote that does not listen is left alone."""
        if not visit.is_begun or visit.run.is_resting:
            return
        with suppress(GatewayFault, TimeoutError):
            async with asyncio.timeout(CALL_OFF_SECONDS):
                for task_id in await self._working(visit):
                    await self._reach.cancel(visit.remote, task_id)

    async def _working(self, visit: _Visit) -> list[str]:
        """The remote's run by its name; one that has not been told yet is the only one at work in its context."""
        known = visit.run.id or visit.saying.remote_id
        if known:
            return [known]
        for _ in range(LOOKS_FOR_NAME_MAX):
            working = await self._reach.working_in(visit.remote, visit.saying.context_id)
            if working:
                return working
            await asyncio.sleep(LOOK_FIRST_SECONDS)
        return []


def _is_unheard(run: RemoteRun, saying: Saying) -> bool:
    """Whether a run still waits for what the step says, and has not heard it when the step was taken before."""
    heard = (message.get("messageId") for message in run.history)
    return run.is_asking and saying.message_id() not in heard

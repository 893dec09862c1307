"""The gateway to a remote A2A agent: a step is sent as a message, and the remote task it starts becomes its answer.

The remote keeps the conversation, in one context per generation of a session. Nothing is kept here: which remote task
is open is read from the step, so that any server can take the next one.
"""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from carrel.a2a import RemoteTask
from carrel.gateway.a2a.answers import answer_of, as_answer, as_message, kept_message
from carrel.gateway.a2a.connection import Remote, RemoteConnection, RemoteFaults
from carrel.gateway.a2a.message import MESSAGE, OutgoingMessage, read_step
from carrel.gateway.answers import whole_characters
from carrel.gateway.model import Gateway, GatewayFault, Item, OnSend, OnText, Step, StepAnswer, keep_nothing
from carrel.kernel.settings import GatewaySettings
from carrel.wire import StreamedReply, Wire, WireFault

CANCEL_SECONDS = 3.0
HISTORY_MAX = 50
POLL_FIRST_SECONDS = 0.1
POLL_MAX_SECONDS = 2.0
POLL_GROWTH = 1.5
POLLS_FAILED_MAX = 5
TASK_LOOKUPS_MAX = 5
SENDS_MAX = 5
_STREAM_TYPE = "text/event-stream"


@dataclass(eq=False)
class _RemoteStep:
    """One step at the remote: the message, and what is known of the task it started."""

    message: OutgoingMessage
    on_text: OnText
    on_send: OnSend
    remote: Remote
    task: RemoteTask = field(default_factory=RemoteTask)
    is_started: bool = False
    has_emitted: bool = False

    def receive(self, event: Item) -> None:
        self.emit(self.task.apply(event))

    def emit(self, text: str) -> None:
        if text:
            self.on_text(whole_characters(text))
            self.has_emitted = True


class A2aGateway(Gateway):
    """Takes steps at the agent whose card is at `base_url`."""

    translates = True
    takes_context = False

    def __init__(self, name: str, settings: GatewaySettings, wire: Wire) -> None:
        self.name = name
        self._settings = settings
        self._faults = RemoteFaults(name, settings.api_key)
        self._connection = RemoteConnection(settings, wire, self._faults)

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        """Return the remote agent's answer to the step; cancelling also cancels its task."""
        message = read_step(step)
        if message.is_continuation and message.last_kind == MESSAGE:
            return as_answer(as_message(kept_message(message)), message, "", self._faults)
        try:
            return await self._bounded(_RemoteStep(message, on_text, on_send, await self._connection.remote()))
        except GatewayFault:
            self._connection.forget()
            raise

    async def check(self) -> None:
        """Raise GatewayFault unless the agent's card can be read and names a usable interface."""
        await self._connection.refresh()

    async def _bounded(self, step: _RemoteStep) -> StepAnswer:
        seconds = self._settings.timeout_seconds
        bound = asyncio.timeout(seconds)
        try:
            async with bound:
                return await self._answer(step)
        except TimeoutError:
            if not bound.expired():
                raise
            await self._cancel_remote(step)
            raise self._faults.of_timeout(seconds, retryable=not step.is_started) from None
        except asyncio.CancelledError:
            await self._cancel_remote(step)
            raise

    async def _answer(self, step: _RemoteStep) -> StepAnswer:
        message = step.message
        if message.remote_id:
            await self._refresh(step, message.remote_id, history=HISTORY_MAX)
        if not message.remote_id or (not message.is_continuation and _awaits(step.task, message)):
            await self._send(step)
            if step.task.has_files and step.task.id:
                # The remote may join the pieces of a stream differently, and later steps read its version.
                await self._refresh(step, step.task.id)
        await self._poll(step)
        answer = answer_of(step.task, message, step.remote.name, self._faults)
        if not step.has_emitted and not message.is_continuation:
            step.emit(answer.text)
        return answer

    async def _send(self, step: _RemoteStep) -> None:
        """Send the message; under a new id if an earlier attempt was cancelled, for example by a shutdown."""
        message, context_id = step.message, step.task.context_id or step.message.context_id
        task = {"taskId": message.remote_id} if message.remote_id else {}
        for attempt in range(SENDS_MAX):
            head = {"messageId": message.message_id(attempt), "contextId": context_id, **task}
            step.task = RemoteTask()
            if not await self._send_once(step, {**head, "role": "ROLE_USER", "parts": message.parts}):
                return

    async def _send_once(self, step: _RemoteStep, message: Item) -> bool:
        """Send the message and read the response; return whether it shows an earlier, cancelled attempt."""
        codec = step.remote.codec
        request = codec.send(message, stream=step.remote.is_streaming and self._settings.stream)
        await step.on_send(request.body)
        step.is_started = True
        try:
            async with self._connection.stream(step.remote, request) as reply:
                if reply.status == HTTPStatus.OK and reply.media_type == _STREAM_TYPE:
                    return await self._read_stream(step, reply)
                step.receive(await self._connection.read_reply(reply, codec.read_sent))
        except WireFault as fault:
            # A broken connection does not end the remote task: if its id is known, poll it instead.
            if not step.task.id:
                raise self._faults.of_wire(fault) from None
        return False

    async def _read_stream(self, step: _RemoteStep, reply: StreamedReply) -> bool:
        first_state = ""
        async with aclosing(reply.events()) as events:
            async for event in events:
                step.receive(self._connection.read_event(event.text, step.remote))
                first_state = first_state or step.task.state
                if step.task.is_settled:
                    break
        await reply.drain()
        if not first_state:
            raise self._faults.unreadable("its stream ended without any content.")
        return first_state == "canceled"

    async def _poll(self, step: _RemoteStep) -> None:
        failed, seconds = 0, POLL_FIRST_SECONDS
        while not step.task.is_settled:
            await asyncio.sleep(seconds)
            seconds = min(seconds * POLL_GROWTH, POLL_MAX_SECONDS)
            try:
                await self._refresh(step, step.task.id)
                failed = 0
            except GatewayFault as fault:
                failed += 1
                if not fault.retryable or failed > POLLS_FAILED_MAX:
                    raise

    async def _refresh(self, step: _RemoteStep, task_id: str, *, history: int = 0) -> None:
        step.task.apply({"task": await self._connection.task(step.remote, task_id, history=history)})
        step.is_started = True

    async def _cancel_remote(self, step: _RemoteStep) -> None:
        """Cancel the remote task, since nobody waits for it any more; ignore a remote that does not respond."""
        if not step.is_started or step.task.is_settled:
            return
        with suppress(GatewayFault, TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                for task_id in await self._open_tasks(step):
                    await self._connection.cancel(step.remote, task_id)

    async def _open_tasks(self, step: _RemoteStep) -> list[str]:
        """Return the remote task's id; if it is not known yet, look for active tasks in its context."""
        if known := step.task.id or step.message.remote_id:
            return [known]
        for _ in range(TASK_LOOKUPS_MAX):
            if active := await self._connection.active_tasks(step.remote, step.message.context_id):
                return active
            await asyncio.sleep(POLL_FIRST_SECONDS)
        return []


def _awaits(task: RemoteTask, message: OutgoingMessage) -> bool:
    """Return whether a task waits for this message and did not get it in an earlier attempt of the step."""
    received = (known.get("messageId") for known in task.history)
    return task.is_asking and message.message_id() not in received

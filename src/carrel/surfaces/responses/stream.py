"""Follows a response from its creation to its end, as events or just until it is over.

Live text may turn out to differ from the stored text, and a stream cannot take anything back: such an item is closed as
incomplete with the text that was sent, and the stored one follows as a new item.
"""

from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Any

from msgspec import Struct, field

from carrel.delivery import DraftText
from carrel.kernel import Access, TextBuffer, elapsed_seconds
from carrel.kernel.limits import RESPONSE_WAIT_SECONDS_MAX, SAFETY_POLL_SECONDS, STREAM_PING_SECONDS
from carrel.surfaces.http.revocation import any_rung
from carrel.surfaces.http.services import Services
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.resource import (
    ResponseState,
    find_state,
    render,
    state_of,
    status_of,
    text_part,
    with_id,
)
from carrel.surfaces.responses.store import Response

_ANNOUNCED = "announced"
_ENDS = {"completed": "response.completed", "failed": "response.failed"}
Events = AsyncGenerator[Json | None, None]


class _Open(Struct):
    """A message that is being sent: its text so far, and the length of that."""

    item: Json
    sent: TextBuffer = field(default_factory=TextBuffer)
    length: int = 0


class EventWriter:
    """Creates the numbered events of one response; `items` are those that were sent completely.

    Live text is read from `words` piece by piece, because reading it whole at every piece would copy it every time.
    """

    def __init__(self, response_id: str, words: DraftText | None) -> None:
        self._response_id = response_id
        self._words = words
        self._number = -1
        self._stored = 0
        self._open: _Open | None = None
        # The step whose live text was already sent, or turned out to differ.
        self._done_step: int | None = None
        # The draft that is being read, how many pieces of it were read, how many characters of those were compared with
        # what was sent, and the blanks that it begins with: nothing is sent before there is a word.
        self._draft: int | None = None
        self._read = self._compared = 0
        self._blanks = TextBuffer()
        self.items: list[Json] = []

    def event(self, kind: str, **fields: Any) -> Json:
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}

    def send_live(self, step: int | None) -> Iterator[Json]:
        """Send the live text of a step that continues what was sent so far."""
        if self._words is None or self._words.step != step or step == self._done_step:
            return
        text = self._next_live(self._words)
        if not text:
            return
        if self._open is None:
            yield from self._start()
        assert self._open is not None
        # A step that is taken again first repeats what was sent.
        again = min(len(text), max(self._open.length - self._compared, 0))
        if again and self._open.sent.text[self._compared : self._compared + again] != text[:again]:
            # The text differs this time: wait for the stored reply.
            self._done_step = step
            return
        self._compared += len(text)
        yield from self._send(text[again:])

    def _next_live(self, words: DraftText) -> str:
        """Return the live text that was not read yet; empty as long as there are only blanks."""
        if words.draft != self._draft:
            self._draft, self._read, self._compared, self._blanks = words.draft, 0, 0, TextBuffer()
        pieces = words.pieces_after(self._read)
        self._read += len(pieces)
        text = "".join(pieces)
        if self._compared:
            return text
        self._blanks.add(text)
        return self._blanks.text if text.strip() else ""

    def send_stored(self, items: list[Json], step: int | None) -> Iterator[Json]:
        """Send the stored items completely; `step` is the one whose text is live."""
        for item in items[self._stored :]:
            self._stored += 1
            if item["type"] == "function_call":
                yield from self.abandon()
                yield from self._call(item)
                continue
            text = item["content"][0]["text"]
            if self._open is not None and not text.startswith(self._open.sent.text):
                yield from self.abandon()
            if self._open is None:
                yield from self._start()
            assert self._open is not None
            yield from self._send(text[self._open.length :])
            yield from self._end(item["status"], item["phase"])
            live = self._words.text if self._words is not None and self._words.step == step else ""
            if live and text.startswith(live):
                self._done_step = step

    def abandon(self) -> Iterator[Json]:
        """Close an item that was started and will never be completed."""
        if self._open is not None:
            yield from self._end("incomplete", "commentary")

    def _start(self) -> Iterator[Json]:
        index = len(self.items)
        shown = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self._open = _Open(with_id(self._response_id, index, shown))
        yield self.event("response.output_item.added", output_index=index, item=dict(self._open.item))
        yield self.event("response.content_part.added", **self._where(), part=text_part(""))

    def _send(self, more: str) -> Iterator[Json]:
        assert self._open is not None
        if more:
            self._open.sent.add(more)
            self._open.length += len(more)
            yield self.event("response.output_text.delta", **self._where(), delta=more, logprobs=[])

    def _end(self, status: str, phase: str) -> Iterator[Json]:
        assert self._open is not None
        text, where = self._open.sent.text, self._where()
        item = self._open.item | {"status": status, "phase": phase, "content": [text_part(text)]}
        yield self.event("response.output_text.done", **where, text=text, logprobs=[])
        yield self.event("response.content_part.done", **where, part=text_part(text))
        yield self.event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        # Another item would begin with the live text from its start.
        self._open = self._draft = None

    def _call(self, item: Json) -> Iterator[Json]:
        index = len(self.items)
        done = with_id(self._response_id, index, item)
        where = {"item_id": done["id"], "output_index": index}
        started = done | {"status": "in_progress", "arguments": ""}
        yield self.event("response.output_item.added", output_index=index, item=started)
        yield self.event("response.function_call_arguments.delta", **where, delta=item["arguments"])
        yield self.event("response.function_call_arguments.done", **where, arguments=item["arguments"])
        yield self.event("response.output_item.done", output_index=index, item=done)
        self.items.append(done)

    def _where(self) -> Json:
        assert self._open is not None
        return {"item_id": self._open.item["id"], "output_index": len(self.items), "content_index": 0}


async def wait_for_rest(services: Services, access: Access, response: Response) -> ResponseState:
    """Return the response once it is over, or as it is when its run is held, the time is up or the server stops."""
    deadline = elapsed_seconds() + RESPONSE_WAIT_SECONDS_MAX
    with services.watch.bell(access.account_id, response.run_id) as bell:
        while True:
            version = bell.version
            state = await services.db.read(partial(state_of, access=access, response=response))
            if state.rests or state.is_held or elapsed_seconds() >= deadline or services.closing.is_set():
                return state
            await bell.wait(version, SAFETY_POLL_SECONDS)


async def follow(services: Services, access: Access, response: Response, words: DraftText | None) -> Events:
    """Yield every event of a response, exactly one of which ends it; None now and then, as a keepalive.

    `words` is the live text of its run, gathered from the start; without it, text comes complete once it is stored.
    """
    writer = EventWriter(response.id, words)
    with services.watch.bell(access.account_id, response.run_id) as bell:
        state = await services.db.read(partial(state_of, access=access, response=response))
        # Queued means behind other runs; the head of a lane is about to start.
        is_queued = status_of(state) == "queued" and state.run.due_at is None
        status = "queued" if is_queued else "in_progress"
        yield writer.event("response.created", response=_begun(state, status))
        if is_queued:
            yield writer.event("response.queued", response=_begun(state, "queued"))
        bells = [bell] if words is None else [bell, words.bell]
        version = step = None
        was_held = False
        while True:
            versions = [one.version for one in bells]
            speaking = None if words is None else words.step
            # A new step means that the text of the last one is stored by now, and must be sent first.
            if versions[0] != version or speaking != step:
                version, step = versions[0], speaking
                found = await services.db.read(partial(find_state, access=access, response=response))
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
            await any_rung(bells, versions, STREAM_PING_SECONDS)
            if versions == [one.version for one in bells]:
                version = None
                yield None


def _begun(state: ResponseState, status: str) -> Json:
    return render(state, status=status, output=[])


def _end(writer: EventWriter, state: ResponseState, status: str | None = None) -> Json:
    whole = render(state, status=status, output=writer.items)
    return writer.event(_ENDS.get(whole["status"], "response.incomplete"), response=whole)

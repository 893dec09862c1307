"""A response as events: which items were started, how much of their text was sent, and how they end.

Live text may turn out to differ from the stored text, and a stream cannot take anything back: such an item is closed as
incomplete with the text that was sent, and the stored one follows as a new item.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.resource import with_id


class LiveText(Struct, frozen=True):
    """The live text of a run: its current step, and the text of that step so far."""

    step: int
    text: str


class _Open(Struct):
    """A message that is being sent."""

    item: Json
    sent: str = ""


class EventWriter:
    """Creates the numbered events of one response; `items` are those that were sent completely."""

    def __init__(self, response_id: str) -> None:
        self._response_id = response_id
        self._number = -1
        self._stored = 0
        self._open: _Open | None = None
        # The step whose live text was already sent, or turned out to differ.
        self._done_step: int | None = None
        self.items: list[Json] = []

    def event(self, kind: str, **fields: Any) -> Json:
        """Return the next event."""
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}

    def send_live(self, live: LiveText | None) -> Iterator[Json]:
        """Send the live text that continues what was sent so far."""
        if live is None or live.step == self._done_step or not live.text.strip():
            return
        text = live.text
        if self._open is None:
            yield from self._start()
        assert self._open is not None
        if text.startswith(self._open.sent):
            yield from self._send(text)
        elif not self._open.sent.startswith(text):
            # The step was repeated with another text: wait for the stored reply.
            self._done_step = live.step

    def send_stored(self, items: list[Json], live: LiveText | None) -> Iterator[Json]:
        """Send the stored items completely."""
        for item in items[self._stored :]:
            self._stored += 1
            if item["type"] == "function_call":
                yield from self.abandon()
                yield from self._call(item)
                continue
            text = item["content"][0]["text"]
            if self._open is not None and not text.startswith(self._open.sent):
                yield from self.abandon()
            if self._open is None:
                yield from self._start()
            yield from self._send(text)
            yield from self._end(item["status"], item["phase"])
            if live is not None and live.text and text.startswith(live.text):
                self._done_step = live.step

    def abandon(self) -> Iterator[Json]:
        """Close an item that was started and will never be completed."""
        if self._open is not None:
            yield from self._end("incomplete", "commentary")

    def _start(self) -> Iterator[Json]:
        index = len(self.items)
        shown = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self._open = _Open(with_id(self._response_id, index, shown))
        yield self.event("response.output_item.added", output_index=index, item=dict(self._open.item))
        yield self.event("response.content_part.added", **self._where(), part=_part(""))

    def _send(self, text: str) -> Iterator[Json]:
        assert self._open is not None
        more = text[len(self._open.sent) :]
        if more:
            self._open.sent = text
            yield self.event("response.output_text.delta", **self._where(), delta=more, logprobs=[])

    def _end(self, status: str, phase: str) -> Iterator[Json]:
        assert self._open is not None
        message, where = self._open, self._where()
        item = message.item | {"status": status, "phase": phase, "content": [_part(message.sent)]}
        yield self.event("response.output_text.done", **where, text=message.sent, logprobs=[])
        yield self.event("response.content_part.done", **where, part=_part(message.sent))
        yield self.event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        self._open = None

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


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

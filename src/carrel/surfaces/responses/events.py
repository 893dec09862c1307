"""A response told as events: which items were begun, how much of their text was sent, and what ends them.

Text comes live and may have to be taken back, which no stream can: a text that turns out otherwise stays behind as an
item that is incomplete, and the true one is told after it. What was sent of an item is always what it is closed with.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.resource import with_id


class Hearing(Struct, frozen=True):
    """What a run was saying at one moment: the text of its step so far, and which step that is."""

    step: int
    text: str


class _Open(Struct):
    """A message that is being told."""

    item: Json
    sent: str = ""


class Telling:
    """The events of one response, numbered; `items` are those that were told to their end."""

    def __init__(self, response_id: str) -> None:
        self._response_id = response_id
        self._number = -1
        self._settled = 0
        self._open: _Open | None = None
        # The step whose text is told already, or turned out to be of no use.
        self._done_step: int | None = None
        self.items: list[Json] = []

    def event(self, kind: str, **fields: Any) -> Json:
        """The next event."""
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}

    def live(self, hearing: Hearing | None) -> Iterator[Json]:
        """What was said since, as far as it goes on from what was sent."""
        if hearing is None or hearing.step == self._done_step or not hearing.text.strip():
            return
        text = hearing.text
        if self._open is None:
            yield from self._begin()
        assert self._open is not None
        if text.startswith(self._open.sent):
            yield from self._say(text)
        elif not self._open.sent.startswith(text):
            # The step was taken again and says something else: the stored reply will tell.
            self._done_step = hearing.step

    def settle(self, items: list[Json], hearing: Hearing | None) -> Iterator[Json]:
        """Tell what is stored to its end."""
        for item in items[self._settled :]:
            self._settled += 1
            if item["type"] == "function_call":
                yield from self.abandon()
                yield from self._call(item)
                continue
            text = item["content"][0]["text"]
            if self._open is not None and not text.startswith(self._open.sent):
                yield from self.abandon()
            if self._open is None:
                yield from self._begin()
            yield from self._say(text)
            yield from self._end(item["status"], item["phase"])
            if hearing is not None and hearing.text and text.startswith(hearing.text):
                self._done_step = hearing.step

    def abandon(self) -> Iterator[Json]:
        """Close what was begun and will never be whole."""
        if self._open is not None:
            yield from self._end("incomplete", "commentary")

    def _begin(self) -> Iterator[Json]:
        place = len(self.items)
        shown = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self._open = _Open(with_id(self._response_id, place, shown))
        yield self.event("response.output_item.added", output_index=place, item=dict(self._open.item))
        yield self.event("response.content_part.added", **self._where(), part=_part(""))

    def _say(self, text: str) -> Iterator[Json]:
        assert self._open is not None
        more = text[len(self._open.sent) :]
        if more:
            self._open.sent = text
            yield self.event("response.output_text.delta", **self._where(), delta=more, logprobs=[])

    def _end(self, status: str, phase: str) -> Iterator[Json]:
        assert self._open is not None
        told, where = self._open, self._where()
        item = told.item | {"status": status, "phase": phase, "content": [_part(told.sent)]}
        yield self.event("response.output_text.done", **where, text=told.sent, logprobs=[])
        yield self.event("response.content_part.done", **where, part=_part(told.sent))
        yield self.event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        self._open = None

    def _call(self, item: Json) -> Iterator[Json]:
        place = len(self.items)
        whole = with_id(self._response_id, place, item)
        where = {"item_id": whole["id"], "output_index": place}
        begun = whole | {"status": "in_progress", "arguments": ""}
        yield self.event("response.output_item.added", output_index=place, item=begun)
        yield self.event("response.function_call_arguments.delta", **where, delta=item["arguments"])
        yield self.event("response.function_call_arguments.done", **where, arguments=item["arguments"])
        yield self.event("response.output_item.done", output_index=place, item=whole)
        self.items.append(whole)

    def _where(self) -> Json:
        assert self._open is not None
        return {"item_id": self._open.item["id"], "output_index": len(self.items), "content_index": 0}


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

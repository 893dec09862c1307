"""Turns a model's event stream into its answer: a pure reducer that tolerates missing fields.

Servers differ: fields are missing, ids change between events, deltas or their summaries are omitted, the last event
never comes. Text is taken from the deltas and completed from later events that repeat it; calls likewise.

A server may be hostile, so no event may cost more than its own length: it must not search or copy earlier input.
"""

import json
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

from carrel.gateway.answers import StreamReader, build_answer, is_call, is_json, is_message, text_of, text_parts
from carrel.gateway.faults import Faults
from carrel.gateway.items import text_part
from carrel.gateway.model import Item, OnText, StepAnswer
from carrel.kernel import TextBuffer
from carrel.kernel.limits import ANSWER_PARTS_MAX

_MESSAGE = "message"
_CALL = "function_call"


@dataclass(eq=False)
class _Slot:
    """One output item while it arrives."""

    kind: str
    is_announced: bool = False
    has_id: bool = False
    has_index: bool = False
    item: Item = field(default_factory=dict)
    parts: dict[int, TextBuffer] = field(default_factory=dict)
    last_part: int = 0
    ended_parts: set[int] = field(default_factory=set)
    refusal: TextBuffer = field(default_factory=TextBuffer)
    arguments: TextBuffer = field(default_factory=TextBuffer)
    are_arguments_whole: bool = False
    is_done: bool = False

    @property
    def is_whole(self) -> bool:
        if self.kind == _CALL:
            return self.is_done or self.are_arguments_whole
        return self.is_done or (bool(self.parts) and self.ended_parts >= self.parts.keys())

    def may_continue(self, *, numbered: bool, named: bool) -> bool:
        """Return whether an event without a matching id or index may be about this item; once False, always False."""
        # A slot with another id or index is another item; only an announced one may have changed its id.
        is_other = (numbered and self.has_index) or (named and self.has_id and not self.is_announced)
        return not self.is_done and not is_other

    @property
    def texts(self) -> dict[int, str]:
        """The text of each part, in order."""
        return {index: part.text for index, part in sorted(self.parts.items())}

    def as_item(self) -> Item:
        """Return the item as the server completed it, plus what only the stream contained."""
        if self.kind == _CALL:
            given = self.item.get("arguments")
            return {**self.item, "type": _CALL, "arguments": self.arguments.text or ("" if given is None else given)}
        texts, refusal = self.texts, self.refusal.text
        if self.kind != _MESSAGE or (text_parts(self.item) == texts and not refusal):
            return self.item
        content: list[Item] = [text_part(text) for text in texts.values()]
        if refusal:
            content.append({"type": "refusal", "refusal": refusal})
        return {"role": "assistant", **self.item, "type": _MESSAGE, "content": content}


class AnswerReader(StreamReader):
    def __init__(self, *, seed: str, faults: Faults, on_text: OnText) -> None:
        super().__init__(seed=seed, faults=faults, on_text=on_text)
        self._slots: list[_Slot] = []
        # Slots by kind and by whether the event has an index and an id; slots that it cannot continue are dropped.
        self._unfinished: defaultdict[tuple[str, bool, bool], list[_Slot]] = defaultdict(list)
        self._parts = 0
        self._by_id: dict[str, _Slot] = {}
        self._by_index: dict[int, _Slot] = {}
        self._response: Item | None = None
        self._head: Item = {}
        # The items of an answer that was not streamed.
        self._whole: list[Item] = []
        self.handlers = {
            "response.created": self._created,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.output_text.delta": self._text_delta,
            "response.output_text.done": self._text_done,
            "response.content_part.done": self._part_done,
            "response.refusal.delta": self._refusal_delta,
            "response.refusal.done": self._refusal_done,
            "response.function_call_arguments.delta": self._arguments_delta,
            "response.function_call_arguments.done": self._arguments_done,
            "response.completed": self._ended,
            "response.incomplete": self._ended,
            "response.failed": self._failed,
            "response.cancelled": self._failed,
            "error": self._failed,
        }

    def end(self) -> StepAnswer:
        if self._response is None and not self._is_enough():
            raise self._faults.unreadable("its stream ended before the answer was complete.")
        output = self._whole or [slot.as_item() for slot in self._slots]
        return build_answer(output, {**self._head, **(self._response or {})}, seed=self._seed, faults=self._faults)

    def _is_enough(self) -> bool:
        """Whether an answer without its closing event is complete anyway."""
        slots = [slot for slot in self._slots if slot.kind in (_MESSAGE, _CALL)]
        if self.is_finished:
            return bool(slots) and all(slot.kind == _MESSAGE or is_json(slot.as_item()["arguments"]) for slot in slots)
        return bool(slots) and all(slot.is_whole for slot in slots)

    def _created(self, body: Item) -> None:
        response = body.get("response")
        if isinstance(response, dict) and isinstance(response.get("model"), str):
            self._head = {"model": response["model"]}

    # Items

    def _item_added(self, body: Item) -> None:
        if isinstance(item := body.get("item"), dict):
            slot = self._open(_kind_of(item), body, item)
            slot.item = item
            slot.is_announced = True

    def _item_done(self, body: Item) -> None:
        if isinstance(item := body.get("item"), dict):
            self._fill(self._slot(_kind_of(item), body, item), item)

    def _fill(self, slot: _Slot, item: Item) -> None:
        slot.item.update((name, value) for name, value in item.items() if value is not None)
        slot.is_done = True
        if slot.kind == _MESSAGE:
            self._finish_text(slot, text_parts(item))
        elif slot.kind == _CALL and item.get("arguments") not in (None, ""):
            given = item["arguments"]
            slot.arguments = TextBuffer(given if isinstance(given, str) else json.dumps(given))

    def _slot(self, kind: str, body: Item, item: Item | None = None) -> _Slot:
        """Return the slot of an event: by its ids, else by its index, else the newest unfinished one that fits."""
        named = _ids_of(body, item or {})
        found = [self._by_id.get(item_id) for item_id in named]
        index = body.get("output_index")
        found.append(self._by_index.get(index) if isinstance(index, int) else None)
        slot = next((slot for slot in found if slot is not None and slot.kind == kind), None)
        slot = slot or self._newest_unfinished(kind, numbered=isinstance(index, int), named=bool(named))
        return self._open(kind, body, item or {}) if slot is None else self._index(slot, body, item or {})

    def _newest_unfinished(self, kind: str, *, numbered: bool, named: bool) -> _Slot | None:
        slots = self._unfinished[kind, numbered, named]
        while slots and not slots[-1].may_continue(numbered=numbered, named=named):
            slots.pop()
        return slots[-1] if slots else None

    def _open(self, kind: str, body: Item, item: Item) -> _Slot:
        self._count_part()
        slot = _Slot(kind=kind)
        self._slots.append(slot)
        for numbered in (False, True):
            for named in (False, True):
                self._unfinished[kind, numbered, named].append(slot)
        return self._index(slot, body, item)

    def _count_part(self) -> None:
        self._parts += 1
        if self._parts > ANSWER_PARTS_MAX:
            raise self._faults.unreadable(f"it has more than {ANSWER_PARTS_MAX:,} items and parts.")

    def _index(self, slot: _Slot, body: Item, item: Item) -> _Slot:
        for item_id in _ids_of(body, item):
            self._by_id[item_id] = slot
            slot.has_id = True
        if isinstance(body.get("output_index"), int):
            self._by_index[body["output_index"]] = slot
            slot.has_index = True
        return slot

    # Text

    def _text_delta(self, body: Item) -> None:
        delta = body.get("delta")
        if isinstance(delta, str) and delta:
            slot = self._slot(_MESSAGE, body)
            self._part(slot, _part_index(slot, body)).add(delta)
            self._live.emit(slot, delta)

    def _text_done(self, body: Item) -> None:
        if isinstance(body.get("text"), str):
            slot = self._slot(_MESSAGE, body)
            index = _part_index(slot, body)
            self._complete(slot, index, body["text"])
            slot.ended_parts.add(index)

    def _part_done(self, body: Item) -> None:
        part = body.get("part")
        if not isinstance(part, dict):
            return
        if part.get("type") == "refusal":
            self._refusal_done({**body, "refusal": part.get("refusal")})
        elif part.get("type") == "output_text" and isinstance(body.get("content_index"), int):
            self._text_done({**body, "text": part.get("text")})

    def _part(self, slot: _Slot, index: int) -> TextBuffer:
        part = slot.parts.get(index)
        if part is None:
            self._count_part()
            part = slot.parts[index] = TextBuffer()
            slot.last_part = max(slot.last_part, index)
        return part

    def _complete(self, slot: _Slot, index: int, whole: str) -> None:
        """Replace one part's text by its final text, and emit what was not emitted yet."""
        if not whole:
            return
        known = self._part(slot, index).text
        slot.parts[index] = TextBuffer(whole)
        if len(whole) > len(known) and whole.startswith(known):
            self._live.emit(slot, whole[len(known) :])

    def _finish_text(self, slot: _Slot, parts: dict[int, str]) -> None:
        """Replace a message's text by its final text, however the stream numbered its parts."""
        whole = "".join(parts.values())
        if not whole:
            return
        known = "".join(slot.texts.values())
        slot.parts = {index: TextBuffer(text) for index, text in parts.items()}
        slot.last_part = max(parts)
        if len(whole) > len(known) and whole.startswith(known):
            self._live.emit(slot, whole[len(known) :])

    def _refusal_delta(self, body: Item) -> None:
        if isinstance(body.get("delta"), str):
            self._slot(_MESSAGE, body).refusal.add(body["delta"])

    def _refusal_done(self, body: Item) -> None:
        if isinstance(body.get("refusal"), str):
            self._slot(_MESSAGE, body).refusal = TextBuffer(body["refusal"])

    # Calls

    def _arguments_delta(self, body: Item) -> None:
        if isinstance(body.get("delta"), str):
            self._slot(_CALL, body).arguments.add(body["delta"])

    def _arguments_done(self, body: Item) -> None:
        slot = self._slot(_CALL, body)
        if isinstance(body.get("arguments"), str):
            slot.arguments = TextBuffer(body["arguments"])
        for name in ("name", "call_id"):
            if isinstance(body.get(name), str) and not slot.item.get(name):
                slot.item[name] = body[name]
        slot.are_arguments_whole = True

    # The end

    def _ended(self, body: Item) -> None:
        response = body.get("response")
        whole: Item = dict(response) if isinstance(response, dict) else {}
        if whole.get("status") == "failed":
            raise self._faults.of_error(whole.get("error"))
        if body.get("type") == "response.incomplete":
            whole["status"] = "incomplete"
        output = whole.get("output")
        self._take_final([item for item in output if isinstance(item, dict)] if isinstance(output, list) else [])
        self._response = whole
        self.is_finished = True

    def _take_final(self, output: list[Item]) -> None:
        """Complete the items from the closing event, matched by id, else by order among their kind."""
        waiting = set(self._slots)
        in_order: defaultdict[str, deque[_Slot]] = defaultdict(deque)
        for slot in self._slots:
            in_order[slot.kind].append(slot)
        for item in output:
            kind = _kind_of(item)
            named = (self._by_id.get(item_id) for item_id in _ids_of({}, item))
            found = next((slot for slot in named if slot in waiting and slot.kind == kind), None)
            while found is None and in_order[kind]:
                oldest = in_order[kind].popleft()
                found = oldest if oldest in waiting else None
            found = found or self._open(kind, {}, item)
            waiting.discard(found)
            self._fill(found, item)

    def _failed(self, body: Item) -> None:
        response = body.get("response")
        error: Any = response.get("error") if isinstance(response, dict) else body.get("error")
        raise self._faults.of_error(error or {key: body[key] for key in ("code", "message") if key in body})

    def take_whole(self, answer: Item) -> None:
        status, output = answer.get("status", "completed"), answer.get("output")
        if answer.get("error") or status in ("failed", "cancelled"):
            raise self._faults.of_error(answer.get("error"))
        if not isinstance(output, list) or status not in ("completed", "incomplete"):
            raise self._faults.unreadable("its body does not contain a finished response.")
        self._response, self._whole = answer, [item for item in output if isinstance(item, dict)]
        if text := text_of(self._whole):
            self._live.emit(self, text)


def _kind_of(item: Item) -> str:
    if is_call(item):
        return _CALL
    return _MESSAGE if is_message(item) else str(item.get("type", ""))


def _ids_of(body: Item, item: Item) -> list[str]:
    """Return the ids of an event or item, the most specific first."""
    named = (item.get("call_id"), body.get("item_id"), item.get("id"))
    return [item_id for item_id in named if isinstance(item_id, str) and item_id]


def _part_index(slot: _Slot, body: Item) -> int:
    """Return the index of a text in its message; if the server omits it, count for it."""
    if isinstance(index := body.get("content_index"), int):
        return index
    return slot.last_part + (1 if slot.last_part in slot.ended_parts else 0)

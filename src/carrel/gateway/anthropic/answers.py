"""Turns an answer of the Messages API, streamed or not, into a StepAnswer.

A server may be hostile, so no event costs more than its own length.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from carrel.gateway.answers import StreamReader, build_answer
from carrel.gateway.faults import Faults
from carrel.gateway.items import call_item, incomplete, message_item, text_part, thought_item
from carrel.gateway.model import Item, OnText, StepAnswer
from carrel.kernel import TextBuffer
from carrel.kernel.limits import ANSWER_PARTS_MAX

_CUT_SHORT = {
    "max_tokens": "max_output_tokens",
    "model_context_window_exceeded": "model_context_window_exceeded",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
}
_REFUSED = "It stopped for reasons of safety."
# By the type of a delta: its field that holds the text.
_DELTAS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(eq=False)
class _Block:
    """One block of the content while it arrives; text blocks in a row belong to one `message`."""

    given: Item
    message: object
    text: TextBuffer = field(default_factory=TextBuffer)
    signature: TextBuffer = field(default_factory=TextBuffer)

    @property
    def kind(self) -> str:
        return str(self.given.get("type", ""))

    def as_item(self) -> Item | None:
        """Return the block as an output item; None for texts and for blocks without a meaning here."""
        match self.kind:
            case "tool_use":
                given = self.given.get("input") or {}
                written = self.text.text or (given if isinstance(given, str) else json.dumps(given))
                return call_item(self.given.get("id", ""), self.given.get("name", ""), written)
            case "thinking":
                return thought_item(self.text.text, encrypted_content=self.signature.text)
            case "redacted_thinking":
                return {"type": "reasoning", "summary": [], "encrypted_content": self.given.get("data")}
            case _:
                return None


class MessagesReader(StreamReader):
    ends_with_mark = False

    def __init__(self, *, seed: str, faults: Faults, on_text: OnText) -> None:
        super().__init__(seed=seed, faults=faults, on_text=on_text)
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._model = ""
        self._usage: Item = {}
        self._stop_reason = ""
        self.handlers = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    def take_whole(self, answer: Item) -> None:
        if answer.get("type") == "error" or answer.get("error"):
            self._error(answer)
        self._message_start({"message": answer})
        content = answer.get("content")
        if not isinstance(content, list):
            raise self._faults.unreadable("its body does not contain an answer.")
        for index, block in enumerate(content):
            self._block_start({"index": index, "content_block": block})
        self._message_delta({"delta": answer})

    def end(self) -> StepAnswer:
        if not self._stop_reason and not (self.is_finished and self._blocks):
            raise self._faults.unreadable("its stream ended before the answer was complete.")
        items = self._items()
        if self._stop_reason == "refusal" and not any(block.kind in ("text", "tool_use") for block in self._blocks):
            raise self._faults.of_refusal(_REFUSED)
        head = {"model": self._model, "usage": self._tokens()} | incomplete(_CUT_SHORT.get(self._stop_reason))
        return build_answer(items, head, seed=self._seed, faults=self._faults)

    def _message_start(self, body: Item) -> None:
        message = body.get("message")
        if isinstance(message, dict):
            self._model = message["model"] if isinstance(message.get("model"), str) else ""
            self._count(message.get("usage"))

    def _block_start(self, body: Item) -> None:
        given, index = body.get("content_block"), body.get("index")
        if not isinstance(given, dict):
            return
        if len(self._blocks) >= ANSWER_PARTS_MAX:
            raise self._faults.unreadable(f"it has more than {ANSWER_PARTS_MAX:,} blocks.")
        before = next(reversed(self._blocks), None)
        is_same = before is not None and before.kind == given.get("type") == "text"
        block = _Block(given, before.message if before is not None and is_same else object())
        self._blocks.append(block)
        if isinstance(index, int):
            self._by_index[index] = block
        self._add(block, given.get("thinking" if block.kind == "thinking" else "text"))
        if isinstance(given.get("signature"), str):
            block.signature.add(given["signature"])

    def _block_delta(self, body: Item) -> None:
        delta = body.get("delta")
        block = self._block_of(body, delta) if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or block is None:
            return
        if delta.get("type") == "signature_delta" and isinstance(delta.get("signature"), str):
            block.signature.add(delta["signature"])
        self._add(block, delta.get(_DELTAS.get(str(delta.get("type")), "")))

    def _block_of(self, body: Item, delta: Item) -> _Block | None:
        """Return the block of a delta: by its index, else the newest; a text may begin unannounced."""
        index = body.get("index")
        block = self._by_index.get(index) if isinstance(index, int) else next(reversed(self._blocks), None)
        if block is None and delta.get("type") == "text_delta":
            self._block_start({"index": index, "content_block": {"type": "text"}})
            return self._blocks[-1]
        return block

    def _add(self, block: _Block, text: Any) -> None:
        if isinstance(text, str) and text:
            block.text.add(text)
            if block.kind == "text":
                self._live.emit(block.message, text)

    def _message_delta(self, body: Item) -> None:
        delta = body.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        self._stop_reason = reason if isinstance(reason, str) else self._stop_reason
        self._count(body.get("usage"))

    def _message_stop(self, body: Item) -> None:
        self.is_finished = True

    def _error(self, body: Item) -> None:
        raise self._faults.of_error(body.get("error"))

    def _count(self, usage: Any) -> None:
        """Take over the figures of an event; later ones are totals, but not every event has all of them."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _tokens(self) -> Item:
        """Return the usage with the cached part of the prompt counted in."""
        counts = [self._usage.get(name) for name in _INPUT_TOKENS]
        sent = sum(count for count in counts if isinstance(count, int))
        return self._usage | {"input_tokens": sent}

    def _items(self) -> list[Item]:
        items: list[Item] = []
        message: object = None
        for block in self._blocks:
            if (item := block.as_item()) is not None:
                items.append(item)
            elif block.kind == "text" and block.text.text:
                if block.message is not message:
                    message = block.message
                    items.append(message_item())
                items[-1]["content"].append(text_part(block.text.text))
        return items

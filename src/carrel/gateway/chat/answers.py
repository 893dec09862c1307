"""Turns a Chat Completions answer, streamed or not, into a StepAnswer; tolerates missing fields.

A server may be hostile, so no event costs more than its own length.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from carrel.gateway.answers import StreamReader, build_answer, is_json
from carrel.gateway.faults import Faults
from carrel.gateway.items import call_item, incomplete, message_item, text_part, thought_item
from carrel.gateway.model import Item, OnText, StepAnswer
from carrel.kernel import TextBuffer
from carrel.kernel.limits import ANSWER_PARTS_MAX

# Where servers put the model's thoughts; they are sent back under the name they came with.
THOUGHT_FIELDS = ("reasoning_content", "reasoning")
_CUT_SHORT = {"length": "max_output_tokens", "content_filter": "content_filter"}
_FILTERED = "Its content filter stopped the answer."


@dataclass(eq=False)
class _Call:
    call_id: str = ""
    name: str = ""
    arguments: TextBuffer = field(default_factory=TextBuffer)

    def as_item(self) -> Item:
        """Return the call as an output item; an id that the server left out is made up later."""
        return call_item(self.call_id, self.name, self.arguments.text)


class ChatReader(StreamReader):
    def __init__(self, *, seed: str, faults: Faults, on_text: OnText) -> None:
        super().__init__(seed=seed, faults=faults, on_text=on_text)
        self._text = TextBuffer()
        self._refusal = TextBuffer()
        self._thought = TextBuffer()
        self._thought_field = ""
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[int, _Call] = {}
        self._head: Item = {}
        self._finish_reason = ""

    def take(self, body: Item, name: str = "") -> None:
        """Read a chunk of a stream, or a whole answer, which has the same shape with `message` for `delta`."""
        if body.get("error") or "error" in (name, body.get("object"), body.get("type")):
            raise self._faults.of_error(body.get("error") or body)
        if isinstance(body.get("model"), str) and body["model"]:
            self._head["model"] = body["model"]
        if isinstance(body.get("usage"), dict):
            self._head["usage"] = body["usage"]
        choices = body.get("choices")
        # Only one choice is requested; chunks without one report usage.
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        if choice.get("error"):
            raise self._faults.of_error(choice["error"])
        for part in (choice.get("delta"), choice.get("message")):
            self._add(part if isinstance(part, dict) else {})
        reason = choice.get("finish_reason")
        self._finish_reason = reason if isinstance(reason, str) and reason else self._finish_reason

    def take_whole(self, answer: Item) -> None:
        self.take(answer)
        if not isinstance(answer.get("choices"), list) or not answer["choices"]:
            raise self._faults.unreadable("its body does not contain an answer.")

    def end(self) -> StepAnswer:
        items = self._items()
        calls_whole = all(is_json(call.arguments.text or "{}") for call in self._calls)
        if not self._finish_reason and not (self.is_finished and items and calls_whole):
            raise self._faults.unreadable("its stream ended before the answer was complete.")
        if self._finish_reason == "error":
            raise self._faults.of_error(None)
        reason = _CUT_SHORT.get(self._finish_reason)
        if reason == "content_filter" and not self._text.text and not self._calls:
            raise self._faults.of_refusal(self._refusal.text or _FILTERED)
        return build_answer(items, self._head | incomplete(reason), seed=self._seed, faults=self._faults)

    def _add(self, delta: Item) -> None:
        if text := _text_of(delta.get("content")):
            self._text.add(text)
            self._live.emit(self, text)
        if isinstance(delta.get("refusal"), str):
            self._refusal.add(delta["refusal"])
        self._add_thought(delta)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._add_call(call, call.get("function"))
        if isinstance(delta.get("function_call"), dict):
            # The older form with a single call; some servers still use it.
            self._add_call({"index": -1}, delta["function_call"])

    def _add_thought(self, delta: Item) -> None:
        found = (name for name in THOUGHT_FIELDS if isinstance(delta.get(name), str) and delta[name])
        # Some servers send the same text under both names.
        self._thought_field = self._thought_field or next(found, "")
        if isinstance(thought := delta.get(self._thought_field), str):
            self._thought.add(thought)

    def _add_call(self, delta: Item, function: Any) -> None:
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        call = self._call_of(delta, name if isinstance(name, str) else "")
        if isinstance(arguments, str):
            call.arguments.add(arguments)
        elif arguments is not None:
            call.arguments.add(json.dumps(arguments))

    def _call_of(self, delta: Item, name: str) -> _Call:
        """Return the call that a delta belongs to: by its id, else by its index, else the newest unless it has a name.

        Some servers number every call 0: a name together with another id begins another call.
        """
        given, index = delta.get("id"), delta.get("index")
        call_id = given if isinstance(given, str) else ""
        call = self._by_id.get(call_id)
        if call is None and isinstance(index, int):
            call = self._by_index.get(index)
        elif call is None and self._calls and not name:
            call = self._calls[-1]
        if call is None or (name and call_id and call.call_id not in ("", call_id)):
            if len(self._calls) >= ANSWER_PARTS_MAX:
                raise self._faults.unreadable(f"it has more than {ANSWER_PARTS_MAX:,} calls.")
            call = _Call()
            self._calls.append(call)
        call.call_id, call.name = call.call_id or call_id, call.name or name
        if call_id:
            self._by_id[call_id] = call
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _items(self) -> list[Item]:
        thought, text, refusal = self._thought.text, self._text.text, self._refusal.text
        items = [thought_item(thought, field=self._thought_field)] if thought else []
        parts = [text_part(text)] if text else []
        parts += [{"type": "refusal", "refusal": refusal}] if refusal else []
        items += [message_item(*parts)] if parts else []
        return [*items, *(call.as_item() for call in self._calls)]


def _text_of(content: Any) -> str:
    """Return a content as text; some servers send parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type", "text") == "text")
    return "".join(text for text in texts if isinstance(text, str))

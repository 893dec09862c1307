"""Turns a model's raw output items into a StepAnswer: text, calls, usage. Pure; for streams and plain JSON."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from carrel.gateway.faults import Faults
from carrel.gateway.items import incomplete, json_value
from carrel.gateway.model import Call, Item, OnText, StepAnswer
from carrel.kernel import ServerEvent, Usage, clip, one_line

BETWEEN_MESSAGES = "\n\n"
REASON_CHARS_MAX = 100
# No step uses more; larger figures are wrong and do not fit into a column.
TOKENS_MAX = 1_000_000_000_000
USD_MAX = 1_000_000_000


def build_answer(output: list[Item], response: Item, *, seed: str, faults: Faults) -> StepAnswer:
    """Build the answer from `output`; `response` is the resource around it, if the server sent one.

    Call ids that a server omitted or repeated are derived from `seed`, so that equal answers get equal ids.
    """
    items = [dict(item) for item in _with_whole_characters(output)]
    reason = incomplete_reason(response)
    if reason is not None:
        items = [item for item in items if not is_call(item) or is_json(item.get("arguments"))]
        _mark_incomplete(items, reason)
    calls = _complete_calls(items, seed, faults)
    text = text_of(items)
    refusal = _refusal_of(items)
    if refusal and not text and not calls:
        raise faults.of_refusal(refusal)
    model = response.get("model")
    return StepAnswer(
        text=text,
        calls=calls,
        usage=usage_of(response.get("usage")),
        model=model if isinstance(model, str) else "",
        output=items,
        incomplete_reason=reason,
    )


def whole_characters(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced, since they cannot be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _with_whole_characters(output: list[Item]) -> list[Item]:
    try:
        msgspec.json.encode(output)
    except UnicodeEncodeError:
        repaired: list[Item] = json.loads(whole_characters(json.dumps(output, ensure_ascii=False)))
        return repaired
    return output


def is_call(item: Item) -> bool:
    return item.get("type") == "function_call"


def is_message(item: Item) -> bool:
    """Return whether the item is a message; some servers omit the type of plain messages."""
    return item.get("type") == "message" or ("type" not in item and "content" in item)


def is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def text_parts(item: Item) -> dict[int, str]:
    """Return the texts of a message by their index in its content."""
    content = item.get("content")
    if isinstance(content, str):
        return {0: content}
    return {
        index: part["text"]
        for index, part in enumerate(content if isinstance(content, list) else ())
        if isinstance(part, dict) and part.get("type") in ("output_text", "text") and isinstance(part.get("text"), str)
    }


def text_of(items: list[Item]) -> str:
    texts = ("".join(text_parts(item).values()) for item in items if is_message(item))
    return BETWEEN_MESSAGES.join(text for text in texts if text)


def usage_of(usage: Any) -> Usage:
    """Return the usage a server reports, in the field names of the current or the older protocol."""
    if not isinstance(usage, dict):
        return Usage()
    input_tokens = _count(usage.get("input_tokens", usage.get("prompt_tokens")))
    output_tokens = _count(usage.get("output_tokens", usage.get("completion_tokens")))
    cost = usage.get("cost_usd", usage.get("cost"))
    return Usage(
        input_tokens=input_tokens,
        cached_tokens=min(input_tokens, _cached(usage)),
        output_tokens=output_tokens,
        total_tokens=_count(usage.get("total_tokens")) or input_tokens + output_tokens,
        cost_usd=float(cost) if isinstance(cost, int | float) and 0 <= cost <= USD_MAX else None,
    )


def _cached(usage: Item) -> int:
    """The tokens of the input that the server had in its cache, by whichever name it reports them."""
    if "cache_read_input_tokens" in usage:
        return _count(usage["cache_read_input_tokens"])
    details = usage.get("input_tokens_details", usage.get("prompt_tokens_details"))
    return _count(details.get("cached_tokens")) if isinstance(details, dict) else 0


def incomplete_reason(response: Item) -> str | None:
    if response.get("status") != "incomplete":
        return None
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return (clip(one_line(reason), REASON_CHARS_MAX) if isinstance(reason, str) else "") or "unknown"


def _mark_incomplete(items: list[Item], reason: str) -> None:
    if not items:
        items.append({"type": "message", "role": "assistant", "content": []})
    items[-1] = items[-1] | incomplete(reason)


def _complete_calls(items: list[Item], seed: str, faults: Faults) -> tuple[Call, ...]:
    """Return the calls among `items`, completing their call ids, names and arguments in place."""
    calls: dict[str, Call] = {}
    for position, item in enumerate(items):
        if not is_call(item):
            continue
        name = _plain(item.get("name"))
        if not name:
            raise faults.unreadable("it calls a function without a name.")
        given = item.get("arguments")
        arguments = given if isinstance(given, str) else json.dumps(given if given is not None else {})
        call_id = _plain(item.get("call_id") or item.get("id"))
        if not call_id or call_id in calls:
            source = json.dumps([seed, position, name, arguments])
            call_id = "call_" + sha256(source.encode()).hexdigest()[:24]
        call = Call(call_id=call_id, name=name, arguments=arguments if arguments.strip() else "{}")
        item.update(call_id=call.call_id, name=call.name, arguments=call.arguments)
        calls[call_id] = call
    return tuple(calls.values())


def _plain(name: Any) -> str:
    """Return a name without NUL characters, which no text column accepts; empty if it is not a string."""
    return name.replace("\x00", "") if isinstance(name, str) else ""


def _refusal_of(items: list[Item]) -> str:
    parts = [part for item in items if is_message(item) for part in item.get("content") or () if isinstance(part, dict)]
    return " ".join(part["refusal"] for part in parts if isinstance(part.get("refusal"), str))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= TOKENS_MAX else 0


class LiveText:
    """Passes streamed text on in whole characters, with a gap between the messages of an answer."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._source: object = None
        self._half = ""

    def emit(self, source: object, text: str) -> None:
        """Pass on a piece of the message that `source` identifies."""
        if self._source is not None and self._source is not source:
            self._on_text(BETWEEN_MESSAGES)
        self._source = source
        # Some servers split a surrogate pair: its first half waits for the second.
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if text:
            self._on_text(whole_characters(text))


class StreamReader(ABC):
    """Reads one answer; `on_text` is called with text as it arrives.

    `handlers` read events by their kind; `ends_with_mark` says whether `[DONE]` ends a stream.
    """

    ends_with_mark = True

    def __init__(self, *, seed: str, faults: Faults, on_text: OnText) -> None:
        self.is_finished = False
        self.handlers: dict[str, Callable[[Item], None]] = {}
        self._seed = seed
        self._faults = faults
        self._live = LiveText(on_text)

    def feed(self, event: ServerEvent) -> None:
        """Read one event; raise GatewayFault if it reports a failure. Not needed once `is_finished`."""
        if self.ends_with_mark and event.text.strip() == "[DONE]":
            self.is_finished = True
            return
        # Some servers send pings that are not JSON; if something really is missing, `end` notices.
        if isinstance(body := json_value(event.text), dict):
            self.take(body, event.name)

    def take(self, body: Item, name: str) -> None:
        kind = body.get("type") or name or ("error" if "error" in body else "")
        handler = self.handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(body)

    @abstractmethod
    def end(self) -> StepAnswer:
        """Return the answer once all was read; raise GatewayFault if something is missing."""

    @abstractmethod
    def take_whole(self, answer: Item) -> None:
        """Read a whole answer; raise GatewayFault for anything else."""

    def read_whole(self, body: bytes) -> StepAnswer:
        """Return the answer in a plain JSON body; raise GatewayFault if it contains none."""
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise self._faults.unreadable("its body is not JSON.") from None
        if not isinstance(answer, dict):
            raise self._faults.unreadable("its body is not a JSON object.")
        self.take_whole(answer)
        # A whole body is complete, even if the server does not say why the answer ended.
        self.is_finished = True
        return self.end()

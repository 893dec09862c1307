"""What all readers of answers share: parsed events, text as it arrives, and plain JSON bodies."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable

from carrel.gateway.answers import BETWEEN_MESSAGES, whole_characters
from carrel.gateway.faults import Faults
from carrel.gateway.model import Item, OnText, StepAnswer
from carrel.wire import ServerEvent


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


class StreamReader:
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
        try:
            body = json.loads(event.text)
        except (ValueError, RecursionError):
            # Some servers send pings that are not JSON; if something really is missing, `end` notices.
            return
        if isinstance(body, dict):
            self.take(body, event.name)

    def take(self, body: Item, name: str) -> None:
        """Read the body of an event with this name."""
        kind = body.get("type") or name or ("error" if "error" in body else "")
        handler = self.handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(body)


class WholeReader(StreamReader, ABC):
    """A reader that also reads a whole answer, like the events of a stream."""

    @abstractmethod
    def take_whole(self, answer: Item) -> None:
        """Read a whole answer; raise GatewayFault for anything else."""

    @abstractmethod
    def end(self) -> StepAnswer:
        """Return the answer once all was read; raise GatewayFault if something is missing."""

    @classmethod
    def read_whole(cls, body: bytes, *, seed: str, faults: Faults, on_text: OnText) -> StepAnswer:
        """Return the answer in a plain JSON body; raise GatewayFault if it contains none."""
        reader = cls(seed=seed, faults=faults, on_text=on_text)
        reader.take_whole(read_object(body, faults))
        # A whole body is complete, even if the server does not say why the answer ended.
        reader.is_finished = True
        return reader.end()


def read_object(body: bytes, faults: Faults) -> Item:
    """Return the JSON object in a body; raise GatewayFault for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise faults.unreadable("its body is not JSON.") from None
    if not isinstance(found, dict):
        raise faults.unreadable("its body is not a JSON object.")
    return found

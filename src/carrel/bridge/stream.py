"""Server-sent events, parsed from lines."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class StreamEvent(NamedTuple):
    """One event of a stream: its id (empty if it has none), its name and its parsed body."""

    id: str
    name: str
    body: Any


class EventReader:
    """Puts events together from lines; one that is incomplete at the end is dropped, as the standard requires."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._id, self._name, self._text = "", "message", list[str]()

    def add(self, raw: bytes) -> StreamEvent | None:
        """Take the next line; return the event that it ends."""
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            event = StreamEvent(self._id, self._name, _parsed("\n".join(self._text))) if self._text else None
            self._begin()
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._text.append(value)
        elif field == "event":
            self._name = value
        elif field == "id":
            self._id = value
        return None


def read_events(lines: Iterable[bytes]) -> Iterator[StreamEvent]:
    """Yield the events in the lines."""
    reader = EventReader()
    for line in lines:
        if event := reader.add(line):
            yield event


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

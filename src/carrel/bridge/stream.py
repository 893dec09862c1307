"""Server-sent events, parsed from lines."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class StreamEvent(NamedTuple):
    """One event of a stream: its id (empty if it has none), its name and its parsed body."""

    id: str
    name: str
    body: Any


def read_events(lines: Iterable[bytes]) -> Iterator[StreamEvent]:
    """Yield the events in the lines; an incomplete event at the end is dropped, as the standard requires."""
    event_id, name, text = "", "message", list[str]()
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if text:
                yield StreamEvent(event_id, name, _parsed("\n".join(text)))
            event_id, name, text = "", "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            text.append(value)
        elif field == "event":
            name = value
        elif field == "id":
            event_id = value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

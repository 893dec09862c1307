"""Server-sent events, read line by line; where the lines come from is the client's affair."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class StreamEvent(NamedTuple):
    """One event of a stream: its id (empty when it has none), its name and what it says."""

    id: str
    name: str
    body: Any


def read_events(lines: Iterable[bytes]) -> Iterator[StreamEvent]:
    """Yield the events in the lines; an event the stream broke off in is dropped, as the standard wants it."""
    event_id, name, said = "", "message", list[str]()
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if said:
                yield StreamEvent(event_id, name, _parsed("\n".join(said)))
            event_id, name, said = "", "message", []
            continue
        word, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if word == "data":
            said.append(value)
        elif word == "event":
            name = value
        elif word == "id":
            event_id = value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

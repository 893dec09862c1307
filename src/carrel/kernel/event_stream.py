"""A parser for server-sent events from bytes that may be cut anywhere."""

import re
from typing import NamedTuple

_BREAK = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One server-sent event: its name, its text and its id; name and id are empty if the server sent none."""

    name: str
    text: str
    id: str = ""


class EventTooLarge(ValueError):
    """An event that is larger than its reader allows."""


class EventReader:
    """Turns pieces of a byte stream into events; buffers at most `event_bytes_max` bytes of an unfinished one."""

    def __init__(self, event_bytes_max: int) -> None:
        self._event_bytes_max = event_bytes_max
        self._line = bytearray()
        self._name = self._id = ""
        self._texts: list[str] = []
        self._event_bytes = 0
        self._after_return = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that `piece` completes, in order."""
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_return = False
        if not piece:
            return []
        # A carriage return at the end may be half of a CRLF whose other half has not arrived yet.
        self._after_return = piece.endswith(b"\r")
        head, *rest = _BREAK.split(piece)
        self._grow(head)
        events: list[ServerEvent] = []
        for start in rest:
            event = self._end_line()
            if event is not None:
                events.append(event)
            self._grow(start)
        return events

    def close(self) -> list[ServerEvent]:
        """Return the event left unfinished at the end of the stream: some servers omit the last empty line."""
        last_lines = (self._end_line() if self._line else None, self._end_event())
        return [event for event in last_lines if event is not None]

    def _grow(self, part: bytes) -> None:
        self._line += part
        if self._event_bytes + len(self._line) > self._event_bytes_max:
            raise EventTooLarge(f"An event of the stream is larger than {self._event_bytes_max} bytes.")

    def _end_line(self) -> ServerEvent | None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._end_event()
        self._event_bytes += len(line)
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "id":
            self._id = value
        elif field == "data":
            self._texts.append(value)
        return None

    def _end_event(self) -> ServerEvent | None:
        event = ServerEvent(self._name, "\n".join(self._texts), self._id) if self._texts else None
        self._name = self._id = ""
        self._texts = []
        self._event_bytes = 0
        return event

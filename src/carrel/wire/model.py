"""What goes over the wire and what can go wrong on it, as values. No sockets here."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class WireLimits(Struct, frozen=True, kw_only=True):
    """The bounds of one client: how many connections, how long, how much."""

    connections_max: int = 512
    connect_seconds: float = 10.0
    response_bytes_max: int = 32 * 1024 * 1024
    event_bytes_max: int = 8 * 1024 * 1024
    # A stream that said its last word is given this long to end by itself before we hang up.
    drain_seconds: float = 0.5


class WireFaultKind(StrEnum):
    """The ways a request can fail before it has an answer; `INVALID` and `FORBIDDEN` will fail again."""

    CONNECT = "connect"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    TOO_LARGE = "too_large"
    INVALID = "invalid"
    FORBIDDEN = "forbidden"


class WireFault(Exception):
    """A request without a usable answer. The message never holds headers, credentials, query strings or bodies."""

    def __init__(self, kind: WireFaultKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Reply(Struct, frozen=True, kw_only=True):
    """A whole answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ServerEvent(Struct, frozen=True):
    """One server-sent event: its name (empty when the server gave none) and its text."""

    name: str
    text: str

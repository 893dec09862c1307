"""Limits, responses and faults of HTTP requests, as values."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class WireLimits(Struct, frozen=True, kw_only=True):
    connections_max: int = 512
    connect_seconds: float = 10.0
    response_bytes_max: int = 32 * 1024 * 1024
    event_bytes_max: int = 8 * 1024 * 1024
    # How long a finished stream may take to end by itself before the connection is closed.
    drain_seconds: float = 0.5


class WireFaultKind(StrEnum):
    """Why a request has no usable response; `INVALID` and `FORBIDDEN` requests would fail again."""

    CONNECT = "connect"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    TOO_LARGE = "too_large"
    INVALID = "invalid"
    FORBIDDEN = "forbidden"


class WireFault(Exception):
    """A request without a usable response. The message never contains headers, credentials, queries or bodies."""

    def __init__(self, kind: WireFaultKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Reply(Struct, frozen=True, kw_only=True):
    """A complete response; header names are in lower case. `address` is the IP address that answered, if known."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    address: str = ""

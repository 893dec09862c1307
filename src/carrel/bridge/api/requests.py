"""Requests to a server, and what its responses mean; how they travel is up to the client."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from carrel.bridge.faults import BridgeFault, NotReachable, Refused, TimedOut

ANSWER_BYTES_MAX = 64 * 1024 * 1024
CONNECT_SECONDS = 5.0

Query = Mapping[str, object]


class Request(NamedTuple):
    """One request; `timeout_seconds` is how long the response may take, the client's own limit by default."""

    method: str
    path: str
    query: Query | None = None
    body: object = None
    idempotency_key: str = ""
    timeout_seconds: float | None = None
    wants_bytes: bool = False

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False).encode("utf-8", "replace")

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to this request alone."""
        typed = {} if self.body is None else {"Content-Type": "application/json"}
        return typed | ({"X-Idempotency-Key": self.idempotency_key} if self.idempotency_key else {})


class Address:
    """Where a server is and who asks: the URL and the token of a client."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NotReachable(f"{url} is not the URL of a server; use one like http://127.0.0.1:8787.")
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._path = parts.path.rstrip("/")
        self.url = self.origin + self._path
        self.token = token
        self.is_secure = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        headers = {"Accept": "application/json", "User-Agent": "carrel-bridge"}
        return headers | ({"Authorization": f"Bearer {self.token}"} if self.token else {})

    def target(self, path: str, query: Query | None = None) -> str:
        """Return path and query as the request line has them; parameters without a value are left out."""
        given = {
            name: int(value) if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None and value != ""
        }
        return self._path + path + ("?" + urlencode(given, quote_via=quote) if given else "")

    def read(self, request: Request, status: int, answer: bytes) -> Any:
        """Return the content of a response, or raise its refusal."""
        return answer if request.wants_bytes and status < 400 else self.parse(status, answer)

    def parse(self, status: int, answer: bytes) -> Any:
        """Return the JSON of a response, or raise its refusal."""
        try:
            parsed = json.loads(answer) if answer else None
        except ValueError as fault:
            if status < 400:
                raise NotReachable(f"{self.url} responds, but not like a Carrel server.") from fault
            parsed = None
        if status >= 400:
            raise _refusal(status, parsed)
        return parsed

    def unreachable(self, fault: Exception) -> NotReachable:
        return NotReachable(f"No Carrel server answers at {self.url} ({reason_of(fault)}).")

    def late(self, seconds: float) -> TimedOut:
        return TimedOut(f"{self.url} did not answer within {seconds:g} seconds.")

    def silent(self, seconds: float) -> TimedOut:
        """Return the fault of a stream in which nothing arrives."""
        return TimedOut(f"{self.url} has sent nothing for {seconds:g} seconds.")


def segment(text: str) -> str:
    """Return a key or id as one segment of a path."""
    return quote(text, safe="")


def reason_of(fault: Exception) -> str:
    return getattr(fault, "strerror", None) or str(fault) or type(fault).__name__


def _refusal(status: int, parsed: object) -> BridgeFault:
    error = parsed.get("error") if isinstance(parsed, dict) else None
    if not isinstance(error, dict):
        return Refused(status, "unreadable", f"The server responded with {status} and no reason.", answer=parsed)
    message = str(error.get("message") or f"The server responded with {status}.")
    return Refused(status, str(error.get("code") or ""), message, error.get("field"), answer=parsed)

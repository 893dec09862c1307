"""A client for A2A agents, Carrel's or any other: reads the card, then calls the interface that it names.

Standard library only, so that importing it is cheap. Messages and results have the form of A2A 1.0, whichever version
the agent uses.
"""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from carrel.a2a import A2aCodec, A2aFault, A2aRequest, card_urls, choose_interface, origin_of, supports_streaming
from carrel.bridge.api.feed import PIECE_BYTES_MAX, StreamReader
from carrel.bridge.api.requests import ANSWER_BYTES_MAX, CONNECT_SECONDS, reason_of
from carrel.bridge.client import connected
from carrel.bridge.faults import NotReachable, Refused, TimedOut

Item = dict[str, Any]


class A2aClient:
    """Calls one agent; every method returns the agent's result or raises a `BridgeFault`.

    The token is sent only to the server of `url`; a request that would take it elsewhere, because the card leads there,
    is refused before it is sent.
    """

    def __init__(self, url: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        self.url = url if "://" in url else f"http://{url}"
        _parts(self.url)
        self._token = token
        self._timeout_seconds = timeout_seconds
        self._found: tuple[Item, str] | None = None

    def card(self) -> tuple[Item, str]:
        """Return the agent's card, read once, and its URL."""
        self._found = self._found or self._read_card()
        return self._found

    @property
    def streams(self) -> bool:
        """Whether the card says that the agent streams."""
        return supports_streaming(self.card()[0])

    def send(self, message: Item, *, wait: bool = True, timeout_seconds: float | None = None) -> Item:
        """Send a message; return `{"task": …}` or `{"message": …}` once it has settled, or at once without `wait`."""
        codec = self._codec()
        return self._request(codec.send(message, wait=wait), codec.read_sent, timeout_seconds)

    def stream(self, message: Item, *, timeout_seconds: float | None = None) -> Iterator[Item]:
        """Send a message and yield the events; the timeout is how long the agent may send nothing."""
        codec = self._codec()
        with self._response(codec.send(message, stream=True), timeout_seconds) as response:
            kind = response.headers.get("Content-Type", "")
            if response.status != 200 or not kind.startswith("text/event-stream"):
                yield _read(codec.read_sent, response.status, response.read(ANSWER_BYTES_MAX))
                return
            reader = StreamReader()
            while piece := response.read1(PIECE_BYTES_MAX):
                for frame in reader.feed(piece):
                    if event := _read(codec.read_event, frame.body):
                        yield event

    def task(self, task_id: str, *, history: int | None = None) -> Item:
        """Read one task."""
        codec = self._codec()
        return self._request(codec.get(task_id, history=history), codec.read_task)

    def tasks(self, filters: Item) -> Item:
        """Read one page of the caller's tasks."""
        codec = self._codec()
        return self._request(codec.list(filters), codec.read_list)

    def cancel(self, task_id: str) -> Item:
        """Cancel a task and return it."""
        codec = self._codec()
        return self._request(codec.cancel(task_id), codec.read_task)

    def _codec(self) -> A2aCodec:
        card, card_url = self.card()
        try:
            return A2aCodec(choose_interface(card, card_url))
        except ValueError as fault:
            raise Refused(200, "no_interface", str(fault)) from None

    def _read_card(self) -> tuple[Item, str]:
        """Return the card from the first of its usual URLs that has one."""
        missing: Refused | None = None
        for url in card_urls(self.url):
            headers = {"A2A-Version": "1.0", "Accept": "application/json"}
            with self._response(A2aRequest(method="GET", url=url, headers=headers), None) as response:
                answer, status = response.read(ANSWER_BYTES_MAX), response.status
            if status == 200:
                card = _parsed(answer)
                if isinstance(card, dict):
                    return card, url
                raise NotReachable(f"{url} responds, but not with an agent card.")
            is_hidden = status in (401, 403)
            problem = f"The card at {url} needs a token." if is_hidden else f"There is no card at {url}."
            missing = missing or Refused(status, "no_card", problem, answer=_parsed(answer))
            if status != 404:
                break
        assert missing is not None, "a card has at least one address"
        raise missing

    def _request(self, request: A2aRequest, read: Any, timeout_seconds: float | None = None) -> Item:
        with self._response(request, timeout_seconds) as response:
            return _read(read, response.status, response.read(ANSWER_BYTES_MAX))

    @contextmanager
    def _response(self, request: A2aRequest, timeout_seconds: float | None) -> Iterator[http.client.HTTPResponse]:
        """Yield the response to one request, on a connection of its own."""
        seconds = timeout_seconds or self._timeout_seconds
        parts = _parts(request.url)
        where = f"{parts.scheme}://{parts.netloc}"
        headers = {"User-Agent": "carrel-bridge", **request.headers, **self._authorization(request.url, where)}
        host, is_secure = parts.hostname or "", parts.scheme == "https"
        try:
            connection = connected(host, parts.port, min(seconds, CONNECT_SECONDS), is_secure=is_secure)
        except OSError as fault:
            raise NotReachable(f"Nothing answers at {where} ({reason_of(fault)}).") from fault
        try:
            sock = connection.sock
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request(request.method, target, body=request.body or None, headers=headers)
            sock.settimeout(seconds)
            yield connection.getresponse()
        except TimeoutError as fault:
            raise TimedOut(f"{where} has sent nothing for {seconds:g} seconds.") from fault
        except (OSError, http.client.HTTPException) as fault:
            raise NotReachable(f"The connection to {where} was lost ({reason_of(fault)}).") from fault
        finally:
            connection.close()

    def _authorization(self, url: str, where: str) -> dict[str, str]:
        if not self._token:
            return {}
        if origin_of(url) != origin_of(self.url):
            why = (
                f"The card of {self.url} leads to {where}, a server that you did not name, so the token was not sent. "
                f"If that server may have it, use {where} as the URL of the agent; otherwise send no token."
            )
            raise Refused(200, "other_server", why)
        return {"Authorization": f"Bearer {self._token}"}


def _parts(url: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    raise NotReachable(f"{url} is not the URL of an agent; use one like https://agent.example.")


def _read(read: Callable[..., Item], *answer: Any) -> Item:
    try:
        return read(*answer)
    except A2aFault as fault:
        if fault.reason or fault.status in (401, 403):
            why = f"The agent refused: {fault.message}"
            raise Refused(fault.status, fault.reason or "not_allowed", why) from None
        raise NotReachable(f"The agent's response is unreadable: {fault.message}") from None


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None

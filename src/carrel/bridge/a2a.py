"""A client for A2A agents, Carrel's or anybody's: reads the card, then speaks to the interface that the card leads to.

Plain standard library, so that importing it costs a program nothing. What is said and read is in the form of A2A 1.0,
whichever version the agent speaks.
"""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from carrel.a2a import A2aCodec, A2aFault, A2aRequest, card_urls, choose_interface, supports_streaming
from carrel.bridge.client import ANSWER_BYTES_MAX, CONNECT_SECONDS, LINE_BYTES_MAX
from carrel.bridge.faults import BridgeFault, NotReachable, Refused, TimedOut
from carrel.bridge.stream import read_events

Item = dict[str, Any]


class A2aClient:
    """Speaks to one agent; every method returns what the agent said, or raises a `BridgeFault`.

    `only_here` keeps the token to the server of `url`, wherever the card leads.
    """

    def __init__(self, url: str, token: str = "", *, only_here: bool = False, timeout_seconds: float = 30.0) -> None:
        self.url = url if "://" in url else f"http://{url}"
        _parts(self.url)
        self._token = token
        self._only_here = only_here
        self._timeout_seconds = timeout_seconds
        self._found: tuple[Item, str] | None = None

    def card(self) -> tuple[Item, str]:
        """Read the agent's card, once; and where it lay."""
        if self._found is None:
            self._found = self._look()
        return self._found

    @property
    def streams(self) -> bool:
        """Whether the agent says that it streams."""
        return supports_streaming(self.card()[0])

    def send(self, message: Item, *, wait: bool = True, timeout_seconds: float | None = None) -> Item:
        """Say something; `{"task": …}` or `{"message": …}`, when the work rests or, without `wait`, at once."""
        codec = self._speech()
        return self._ask(codec.send(message, wait=wait), codec.read_sent, timeout_seconds)

    def stream(self, message: Item, *, timeout_seconds: float | None = None) -> Iterator[Item]:
        """Say something and yield what comes of it, event by event; the time is how long the agent may be silent."""
        codec = self._speech()
        with self._asked(codec.send(message, stream=True), timeout_seconds) as response:
            kind = response.headers.get("Content-Type", "")
            if response.status != 200 or not kind.startswith("text/event-stream"):
                yield _understood(response, codec.read_sent)
                return
            for heard in read_events(iter(lambda: response.readline(LINE_BYTES_MAX), b"")):
                event = _heard(codec, heard.body)
                if event:
                    yield event

    def task(self, task_id: str, *, history: int | None = None) -> Item:
        """Look at one task."""
        codec = self._speech()
        return self._ask(codec.get(task_id, history=history), codec.read_task)

    def tasks(self, filters: Item) -> Item:
        """Look at the caller's tasks, a page at a time."""
        codec = self._speech()
        return self._ask(codec.list(filters), codec.read_list)

    def cancel(self, task_id: str) -> Item:
        """Ask for a task to be cancelled; the task as it stands then."""
        codec = self._speech()
        return self._ask(codec.cancel(task_id), codec.read_task)

    def _speech(self) -> A2aCodec:
        card, card_url = self.card()
        try:
            return A2aCodec(choose_interface(card, card_url))
        except ValueError as fault:
            raise Refused(200, "no_interface", str(fault)) from None

    def _look(self) -> tuple[Item, str]:
        """The card at the first of its usual places that has one."""
        missing: Refused | None = None
        for url in card_urls(self.url):
            headers = {"A2A-Version": "1.0", "Accept": "application/json"}
            with self._asked(A2aRequest(method="GET", url=url, headers=headers), None) as response:
                answer, status = response.read(ANSWER_BYTES_MAX), response.status
            if status == 200:
                card = _parsed(answer)
                if isinstance(card, dict):
                    return card, url
                raise NotReachable(f"{url} answers, but with no agent's card.")
            is_hidden = status in (401, 403)
            words = f"The card at {url} is not shown to everybody." if is_hidden else f"There is no card at {url}."
            missing = missing or Refused(status, "no_card", words, answer=_parsed(answer))
            if status != 404:
                break
        assert missing is not None, "a card has at least one address"
        raise missing

    def _ask(self, request: A2aRequest, read: Any, timeout_seconds: float | None = None) -> Item:
        with self._asked(request, timeout_seconds) as response:
            return _understood(response, read)

    @contextmanager
    def _asked(self, request: A2aRequest, timeout_seconds: float | None) -> Iterator[http.client.HTTPResponse]:
        """The answer to one request, on a connection of its own."""
        seconds = timeout_seconds or self._timeout_seconds
        parts = _parts(request.url)
        where = f"{parts.scheme}://{parts.netloc}"
        connection = _dialed(parts, where, seconds)
        try:
            line = connection.sock
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {"User-Agent": "carrel-bridge", **request.headers, **self._authorization(request.url)}
            connection.request(request.method, target, body=request.body or None, headers=headers)
            line.settimeout(seconds)
            yield connection.getresponse()
        except TimeoutError as fault:
            raise TimedOut(f"{where} has been silent for {seconds:g} seconds.") from fault
        except (OSError, http.client.HTTPException) as fault:
            raise NotReachable(f"{where} broke off ({_reason(fault)}).") from fault
        finally:
            connection.close()

    def _authorization(self, url: str) -> dict[str, str]:
        is_here = urlsplit(url)[:2] == urlsplit(self.url)[:2]
        return {"Authorization": f"Bearer {self._token}"} if self._token and (is_here or not self._only_here) else {}


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise NotReachable(f"{url} is no address of an agent; it should read like https://agent.example.")


def _dialed(parts: SplitResult, where: str, seconds: float) -> http.client.HTTPConnection:
    host, bound = parts.hostname or "", min(seconds, CONNECT_SECONDS)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        secured = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, parts.port, timeout=bound, context=secured)
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=bound)
    try:
        connection.connect()
    except OSError as fault:
        raise NotReachable(f"Nothing answers at {where} ({_reason(fault)}).") from fault
    return connection


def _reason(fault: Exception) -> str:
    return getattr(fault, "strerror", None) or str(fault) or type(fault).__name__


def _understood(response: http.client.HTTPResponse, read: Any) -> Item:
    try:
        told: Item = read(response.status, response.read(ANSWER_BYTES_MAX))
    except A2aFault as fault:
        raise _refusal(fault) from None
    return told


def _heard(codec: A2aCodec, told: object) -> Item:
    try:
        return codec.read_event(told)
    except A2aFault as fault:
        raise _refusal(fault) from None


def _refusal(fault: A2aFault) -> BridgeFault:
    if fault.reason or fault.status in (401, 403):
        return Refused(fault.status, fault.reason or "not_allowed", f"The agent refused: {fault.message}")
    return NotReachable(f"The agent gave no readable answer: {fault.message}")


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None

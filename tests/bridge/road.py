"""A road to a real server, on which requests and answers get lost: what bridges and imports meet in the world.

Everything is stored and answered by `carrel serve`. The road passes it on, notes it, and has its accidents when a test
says so: it is closed, it loses answers, or something on it refuses an entry as a proxy would.
"""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from carrel.kernel import elapsed_seconds
from tests.bridge.tiny_server import Asked, HangsUp, TinyServer, tiny_server
from tests.harness.process import RunningServer

Json = dict[str, Any]
WAIT_SECONDS_MAX = 20.0
SENT = ("/api/log", "/api/ingest")


class Road:
    """The way to an account of its own on a real server."""

    def __init__(self, road: TinyServer, server: RunningServer) -> None:
        self._road = road
        with server.client() as operator:
            made = operator.post("/api/accounts", json={"name": f"Board {uuid.uuid4().hex}"})
        assert made.status_code == 201, made.text
        self.token: str = made.json()["ownerToken"]
        self._server = httpx.Client(base_url=server.url, timeout=WAIT_SECONDS_MAX)
        self._lock = threading.Lock()
        self._is_away = False
        self._answers_to_lose = 0
        self._refusals: dict[str, tuple[int, int]] = {}
        self._contexts_open = threading.Event()
        self._contexts_open.set()
        # The keys of entries that the server has taken, as often as it was sent them.
        self._taken: list[str] = []
        self.batches: list[int] = []
        self.contexts: list[dict[str, str]] = []
        road.otherwise = self._pass_on

    @property
    def url(self) -> str:
        return self._road.url

    @property
    def asked(self) -> list[tuple[str, str]]:
        return [(asked.method, asked.path) for asked in self._road.asked]

    @property
    def tokens(self) -> set[str | None]:
        return {asked.headers.get("Authorization") for asked in self._road.asked}

    @property
    def repeated(self) -> int:
        """How many entries the server was sent again after it had taken them."""
        return len(self._taken) - len(set(self._taken))

    @property
    def entries(self) -> list[Json]:
        """What the server has stored, oldest first, once it has stored what it has taken."""
        self.wait_for(len(set(self._taken)))
        return self._stored()

    @property
    def topics(self) -> dict[str, Json]:
        """The topics that the server has, in the order in which they were made."""
        found = sorted(self.ask("GET", "/api/topics")["topics"], key=lambda topic: (topic["createdAt"], topic["id"]))
        return {topic["id"]: topic for topic in found}

    def ask(self, method: str, path: str, body: Json | None = None, **query: Any) -> Any:
        """Ask the server itself, past the road."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self._server.request(method, path, json=body, params=query, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def away(self) -> None:
        """Let nothing through any more."""
        self._is_away = True

    def back(self) -> None:
        """Let everything through again."""
        self._is_away = False

    def lose_answers(self, times: int) -> None:
        """Let entries through, but hang up instead of bringing the answer."""
        self._answers_to_lose = times

    def refuse(self, content: str, status: int, times: int = 1_000_000) -> None:
        """Refuse an entry before it reaches the server."""
        self._refusals[content] = (status, times)

    def hold_contexts(self) -> None:
        """Let no request for a context through until they are released."""
        self._contexts_open.clear()

    def release_contexts(self) -> None:
        self._contexts_open.set()

    def wait_for(self, count: int) -> None:
        """Wait, bounded, until so many entries are stored."""
        deadline = elapsed_seconds() + WAIT_SECONDS_MAX
        while len(self._stored()) < count:
            assert elapsed_seconds() < deadline, f"{count} entries were never stored"

    def close(self) -> None:
        """Leave nothing open."""
        self._server.close()

    def _stored(self) -> list[Json]:
        found: list[Json] = []
        cursor = None
        while cursor != "":
            query: Json = {"limit": 500, "includeRaw": 1} | ({"cursor": cursor} if cursor else {})
            page = self.ask("GET", "/api/log", None, **query)
            found += page["logs"]
            cursor = page["nextCursor"] or ""
        return found[::-1]

    def _pass_on(self, asked: Asked) -> tuple[int, Any]:
        if asked.path == "/api/context":
            self._contexts_open.wait(5)
        entries = (asked.body.get("entries") or [asked.body]) if asked.path in SENT else []
        # One at a time, as the order of entries is looked at.
        with self._lock:
            if self._is_away:
                raise HangsUp
            if (refusal := self._refused(entries)) is not None:
                return refusal
            answer = self._forwarded(asked)
            if entries and answer.is_success:
                self._taken += [entry["idempotencyKey"] for entry in entries if "idempotencyKey" in entry]
                if self._answers_to_lose:
                    self._answers_to_lose -= 1
                    raise HangsUp
        return answer.status_code, json.loads(answer.content) if answer.content else None

    def _refused(self, entries: list[Json]) -> tuple[int, Any] | None:
        for entry in entries:
            status, times = self._refusals.get(entry["content"], (0, 0))
            if times:
                self._refusals[entry["content"]] = (status, times - 1)
                return status, {"error": {"code": "some_code", "message": "No."}}
        return None

    def _forwarded(self, asked: Asked) -> httpx.Response:
        if asked.path == "/api/ingest":
            self.batches.append(len(asked.body.get("entries") or [asked.body]))
        if asked.path == "/api/context":
            self.contexts.append(asked.query)
        unsent = ("host", "content-length", "connection", "accept-encoding")
        headers = {name: value for name, value in asked.headers.items() if name.lower() not in unsent}
        return self._server.request(asked.method, asked.path, params=asked.query, json=asked.body, headers=headers)


@contextmanager
def road_to(server: RunningServer) -> Iterator[Road]:
    """Open a road during a test."""
    with tiny_server() as road:
        opened = Road(road, server)
        try:
            yield opened
        finally:
            opened.close()

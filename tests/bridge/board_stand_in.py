"""A stand-in for the endpoints of the board that a bridge uses: it stores entries once by key, and can be away."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from tests.bridge.tiny_server import Asked, HangsUp, TinyServer, tiny_server

Json = dict[str, Any]
WAIT_SECONDS_MAX = 20.0


class StandIn:
    """What the board has stored, and what it was asked."""

    def __init__(self, server: TinyServer) -> None:
        self._server = server
        self._lock = threading.Condition()
        self._is_away = False
        self._answers_to_lose = 0
        self._refusals: dict[str, tuple[int, int]] = {}
        self._contexts_open = threading.Event()
        self._contexts_open.set()
        self.entries: list[Json] = []
        self.topics: dict[str, Json] = {}
        self.batches: list[int] = []
        self.contexts: list[dict[str, str]] = []
        self.repeated = 0
        server.does("POST", "/api/log", self._log)
        server.does("POST", "/api/ingest", self._ingest)
        server.does("GET", "/api/context", self._context)
        server.does("POST", "/api/topics", self._topic)
        server.otherwise = self._read_topic

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def asked(self) -> list[tuple[str, str]]:
        return [(asked.method, asked.path) for asked in self._server.asked]

    @property
    def tokens(self) -> set[str | None]:
        return {asked.headers.get("Authorization") for asked in self._server.asked}

    def away(self) -> None:
        """Answer nothing any more."""
        self._is_away = True

    def back(self) -> None:
        """Answer again."""
        self._is_away = False

    def lose_answers(self, times: int) -> None:
        """Store what comes, but hang up instead of saying so."""
        self._answers_to_lose = times

    def refuse(self, content: str, status: int, times: int = 1_000_000) -> None:
        """Refuse an entry."""
        self._refusals[content] = (status, times)

    def hold_contexts(self) -> None:
        """Answer no request for a context until they are released."""
        self._contexts_open.clear()

    def release_contexts(self) -> None:
        self._contexts_open.set()

    def wait_for(self, count: int) -> None:
        """Wait, bounded, until so many entries are stored."""
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.entries) >= count, WAIT_SECONDS_MAX)

    def _log(self, asked: Asked) -> tuple[int, Any]:
        assert asked.headers["X-Idempotency-Key"] == asked.body["idempotencyKey"]
        return self._keep([asked.body]) or (201, {"log": {}})

    def _ingest(self, asked: Asked) -> tuple[int, Any]:
        entries = asked.body.get("entries") or [asked.body]
        self.batches.append(len(entries))
        return self._keep(entries) or (202, {"accepted": len(entries), "ingestIds": []})

    def _keep(self, entries: list[Json]) -> tuple[int, Any] | None:
        with self._lock:
            self._be_there()
            for entry in entries:
                status, times = self._refusals.get(entry["content"], (0, 0))
                if times:
                    self._refusals[entry["content"]] = (status, times - 1)
                    return status, {"error": {"code": "some_code", "message": "No."}}
            for entry in entries:
                if any(known["idempotencyKey"] == entry["idempotencyKey"] for known in self.entries):
                    self.repeated += 1
                else:
                    self.entries.append(entry)
            self._lock.notify_all()
            if self._answers_to_lose:
                self._answers_to_lose -= 1
                raise HangsUp
        return None

    def _be_there(self) -> None:
        if self._is_away:
            raise HangsUp

    def _context(self, asked: Asked) -> tuple[int, Any]:
        self._contexts_open.wait(5)
        self._be_there()
        self.contexts.append(asked.query)
        block = "Clawboard context (layered):\n".ljust(int(asked.query["maxChars"]), "x")
        return 200, {"ok": True, "block": block, "layers": [], "data": {}}

    def _topic(self, asked: Asked) -> tuple[int, Any]:
        self._be_there()
        self.topics[asked.body["id"]] = asked.body
        return 201, {"topic": asked.body}

    def _read_topic(self, asked: Asked) -> tuple[int, Any]:
        self._be_there()
        known = self.topics.get(unquote(asked.path).removeprefix("/api/topics/"))
        missing = {"error": {"code": "not_found", "message": "There is no such topic."}}
        return (200, {"topic": known}) if known else (404, missing)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """Run a stand-in during a test."""
    with tiny_server() as server:
        yield StandIn(server)

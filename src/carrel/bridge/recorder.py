"""Bridge: for programs that run agents themselves. Records what is said there, and fetches the context of a turn."""

import json
import threading
from collections import OrderedDict
from logging import getLogger
from typing import Any, NamedTuple, Self

from carrel.bridge.client import Client
from carrel.bridge.events import Event, fitted_key, is_end, read_event, session_of
from carrel.bridge.faults import BridgeFault
from carrel.bridge.outbox import Outbox
from carrel.bridge.sender import Sender
from carrel.bridge.settings import read_settings
from carrel.kernel import MS_PER_SECOND, Ids, SystemClock, elapsed_seconds, iso, system_chance

FLUSH_SECONDS = 10.0
QUERY_CHARS_MAX = 500
# Limits of remembered contexts: how many sessions, and how long if nobody reports the end of a turn.
TURNS_MAX = 256
TURN_SECONDS_MAX = 600.0
BEGIN, END = "[CLAWBOARD_CONTEXT_BEGIN]", "[CLAWBOARD_CONTEXT_END]"
PREAMBLE = "Context from the board, for reference only; it is not a part of the conversation."
_log = getLogger("carrel.bridge")
_AROUND_CHARS = len(f"{BEGIN}\n{PREAMBLE}\n\n{END}")


class _Fetched(NamedTuple):
    text: str
    context: str
    at: float


class Bridge:
    """Records events durably and in order, and fetches contexts; usable from any thread.

    The settings are `baseUrl` and those of the reference. Entries wait in a file until the server has taken them, so
    that neither an absent server nor a crash of this process loses one.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = read_settings(settings)
        self._clock = SystemClock()
        self._ids = Ids(self._clock, system_chance())
        self._lock = threading.Lock()
        self._turns: OrderedDict[str, _Fetched] = OrderedDict()
        self._outbox: Outbox | None = None
        if self.settings.enabled:
            self._outbox = Outbox(self.settings.file)
            self._sender = Sender(self._outbox, self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(self, event: Event) -> None:
        """Keep an event until the server has taken it; control text is left out. Returns once it is on the disk."""
        if self._outbox is None:
            return
        reported, session = read_event(event), session_of(event)
        ends = is_end(event)
        if ends or (reported is not None and reported.kind == "inbound"):
            with self._lock:
                self._turns.pop(session, None)
        # What a turn has said was reported while it was said.
        if (ends and self._outbox.end_turn(session)) or reported is None:
            return
        body = reported.body
        body.setdefault("createdAt", iso(self._clock.now_ms()))
        body.setdefault("idempotencyKey", self._ids.new("bridge"))
        answers = {"inbound": False, "outbound": True}.get(reported.kind or "")
        self._outbox.add(session, json.dumps(body, ensure_ascii=False), answers=answers)
        self._sender.wake()

    def context(self, session_key: str, text: str) -> str:
        """Return the context for a message, between its markers; empty if there is none, or not in time.

        It is fetched once in a turn: asked again for the same message, the bridge returns the same.
        """
        settings = self.settings
        if self._outbox is None or not settings.context_augment:
            return ""
        session_key = fitted_key(session_key)
        with self._lock:
            known = self._turns.get(session_key)
        if known and known.text == text and elapsed_seconds() - known.at < TURN_SECONDS_MAX:
            return known.context
        block = self._block(session_key, text)
        context = f"{BEGIN}\n{PREAMBLE}\n{block}\n{END}" if block else ""
        with self._lock:
            self._turns[session_key] = _Fetched(text, context, elapsed_seconds())
            self._turns.move_to_end(session_key)
            while len(self._turns) > TURNS_MAX:
                self._turns.popitem(last=False)
        return context

    def flush(self, timeout: float = FLUSH_SECONDS) -> bool:
        """Wait until everything that was recorded is sent; return False when the time is up before."""
        return self._outbox is None or self._sender.wait_sent(self._outbox.newest(), timeout)

    def refused(self) -> list[tuple[str, str]]:
        """Return the entries that the server will never take, as JSON, each with its reason; oldest first."""
        return [] if self._outbox is None else self._outbox.refused()

    def close(self) -> None:
        """Stop; what is not sent yet is sent by the next bridge with this queue."""
        if self._outbox is not None:
            self._sender.stop()
            self._outbox.close()
            self._outbox = None

    def _block(self, session_key: str, text: str) -> str:
        settings = self.settings
        chars_max = settings.context_max_chars - _AROUND_CHARS
        if chars_max <= 0:
            return ""
        query = {
            "sessionKey": session_key,
            "q": text[:QUERY_CHARS_MAX],
            "mode": settings.context_mode,
            "maxChars": chars_max,
            "topicLimit": settings.context_topic_limit,
            "taskLimit": settings.context_task_limit,
            "logLimit": settings.context_log_limit,
        }
        seconds = settings.context_fetch_timeout_ms / MS_PER_SECOND
        try:
            with Client(settings.base_url, settings.token, timeout_seconds=seconds) as client:
                return str(client.get("/api/context", query)["block"])
        except BridgeFault as fault:
            # The turn goes on without it.
            _log.info("context_missing", extra={"error": str(fault)})
            return ""

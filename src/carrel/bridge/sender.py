"""Sends what waits in an outbox, in order, until the server has taken it; one thread, started by its bridge."""

import json
import threading
from logging import getLogger
from typing import Any

from carrel.bridge.api.requests import segment
from carrel.bridge.client import Client
from carrel.bridge.faults import BridgeFault, Refused
from carrel.bridge.outbox import Outbox, Waiting
from carrel.bridge.settings import BridgeSettings
from carrel.kernel import clip, elapsed_seconds, secret_digest
from carrel.kernel.limits import NAME_CHARS_MAX

SEND_SECONDS = 10.0
# Entries that are sent at a time.
BATCH_MAX = 100
# Pauses: without work, while another process sends, and after a failure, which doubles up to its limit.
IDLE_SECONDS = 1.0
RETRY_SECONDS = 0.25
RETRY_SECONDS_MAX = 10.0
# While somebody waits for the queue to empty, no pause is longer.
HURRY_SECONDS = 0.25
# An entry that is refused with these will be refused every time; with others it may be taken later.
_NEVER = (400, 409, 413, 415, 422)
_NAMING = ("topicId", "taskId", "spaceId", "relatedLogId")
_log = getLogger("carrel.bridge")


class Sender:
    """The thread that empties one outbox."""

    def __init__(self, outbox: Outbox, settings: BridgeSettings) -> None:
        self._outbox = outbox
        self._settings = settings
        self._client = Client(settings.base_url, settings.token, timeout_seconds=SEND_SECONDS)
        self._topics: set[str] = set()
        self._changed = threading.Condition()
        self._added = False
        self._hurried = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="carrel-bridge", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Send soon: something was added."""
        with self._changed:
            self._added = True
            self._changed.notify_all()

    def wait_sent(self, upto: int, seconds: float) -> bool:
        """Wait until everything up to a number is sent; return whether it is."""
        until = elapsed_seconds() + seconds
        with self._changed:
            self._hurried += 1
            self._changed.notify_all()
            try:
                while self._outbox.waits(upto):
                    left = until - elapsed_seconds()
                    if left <= 0:
                        return False
                    self._changed.wait(min(left, HURRY_SECONDS))
                return True
            finally:
                self._hurried -= 1

    def stop(self) -> None:
        """End the thread; what is not sent stays in the outbox."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(SEND_SECONDS * 2)
        self._client.close()

    def _run(self) -> None:
        failures = 0
        while not self._stopping:
            pause = IDLE_SECONDS
            try:
                if self._outbox.may_send():
                    pause = 0.0 if self._send_some() else IDLE_SECONDS
                failures = 0
            except Exception as fault:  # boundary: a thread of another program must survive, e.g. a full disk
                failures += 1
                doubled = min(RETRY_SECONDS * 2 ** min(failures - 1, 10), RETRY_SECONDS_MAX)
                pause = doubled if isinstance(fault, BridgeFault) else RETRY_SECONDS_MAX
                _log.warning("entries_wait", extra={"error": str(fault)})
            self._pause(pause, failed=failures > 0)

    def _pause(self, seconds: float, *, failed: bool) -> None:
        """Wait; a new entry ends the wait, except after a failure."""
        until = elapsed_seconds() + seconds
        with self._changed:
            self._changed.notify_all()
            while not self._stopping and (failed or not self._added):
                left = min(until, elapsed_seconds() + HURRY_SECONDS if self._hurried else until) - elapsed_seconds()
                if left <= 0:
                    break
                self._changed.wait(left)
                if self._hurried:
                    break
            self._added = False

    def _send_some(self) -> bool:
        """Send the oldest entries; return whether there were any."""
        waiting = self._outbox.oldest(BATCH_MAX)
        if self._settings.queue and len(waiting) > 1:
            try:
                self._client.post("/api/ingest", {"entries": [self._body(entry) for entry in waiting]})
                self._outbox.sent(waiting[-1].id)
                return True
            except Refused as refused:
                if refused.status not in _NEVER:
                    raise
                # One of them is at fault. Send each by itself, so that the server takes the others.
        done = 0
        try:
            for entry in waiting:
                if self._stopping:
                    break
                self._send(entry)
                done = entry.id
        finally:
            # Once for all of them: an entry that is sent again is recognised by its key.
            if done:
                self._outbox.sent(done)
        return bool(waiting)

    def _send(self, entry: Waiting) -> None:
        body = self._body(entry)
        path = "/api/ingest" if self._settings.queue else "/api/log"
        try:
            self._client.post(path, body, idempotency_key=body["idempotencyKey"])
        except Refused as refused:
            if refused.status not in _NEVER and not (refused.status == 404 and any(name in body for name in _NAMING)):
                raise
            _log.warning("entry_refused", extra={"error": refused.message, "status": refused.status})
            self._outbox.refuse(entry, refused.message)

    def _body(self, entry: Waiting) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(entry.body)
        names_place = any(body.get(name) for name in ("topicId", "taskId")) or entry.session.startswith("clawboard:")
        if self._settings.auto_topic_by_session and entry.session and not names_place:
            body["topicId"] = self._topic(entry.session)
        return body

    def _topic(self, session: str) -> str:
        """Return the id of a session's topic, creating it if necessary; an existing one keeps people's changes."""
        topic_id = f"topic_session-{secret_digest(session)[:24]}"
        if topic_id not in self._topics:
            try:
                self._client.get(f"/api/topics/{segment(topic_id)}")
            except Refused as refused:
                if refused.status != 404:
                    raise
                new = {"id": topic_id, "name": clip(session, NAME_CHARS_MAX), "tags": ["openclaw"]}
                self._client.post("/api/topics", new, idempotency_key=topic_id)
            self._topics.add(topic_id)
        return topic_id

"""What both clients of a server offer; the driver of each performs it in its own way."""

import math
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self

from carrel.bridge.api.feed import FEED_PATH, StreamEvent, feed_query, frames, read_event
from carrel.bridge.api.operations import D_co, Group, iteration, operation
from carrel.bridge.api.requests import Address, Query, Request
from carrel.bridge.api.resources import Accepted, Artifacts, Runs, Sessions, Tasks, is_session
from carrel.bridge.api.shapes import Event, Item
from carrel.bridge.local import local_server


class Api(Group[D_co], ABC):
    """One server, called with one token; every operation returns its result or raises a `BridgeFault`."""

    def __init__(self, url: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        self.address = Address(url, token)
        driver = self._open_driver(timeout_seconds)
        super().__init__(driver)
        # Messages on their way to an outcome.
        self.runs = Runs(driver)
        # Transcripts, and the lanes they are in.
        self.sessions = Sessions(driver)
        # What agents added to their runs.
        self.artifacts = Artifacts(driver)
        # The tasks of the board.
        self.tasks = Tasks(driver)

    @abstractmethod
    def _open_driver(self, timeout_seconds: float) -> D_co: ...

    @classmethod
    def local(cls, data_dir: Path | str | None = None, *, timeout_seconds: float = 30.0) -> Self:
        """Return a client for the server of this machine and its owner, found as the command line finds them.

        That is the server and token in CARREL_URL and CARREL_TOKEN, else those in the data directory.
        """
        return cls(*local_server(data_dir), timeout_seconds=timeout_seconds)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self.address.url

    @property
    def token(self) -> str:
        """The token that is sent with every request."""
        return self.address.token

    @operation
    async def send(
        self, target: str | None, text: str, *, task_id: str | None = None, run_timeout_seconds: int = 0,
        idempotency_key: str = "",
    ) -> Accepted[D_co]:  # fmt: skip
        """Send a message to an agent or a session, without a target to the default agent.

        With an idempotency key it is safe to send it twice. `run_timeout_seconds` limits the work, 0 as the settings
        of the server do.
        """
        body: Item = {} if target is None else {"sessionKey" if is_session(target) else "agentId": target}
        body |= {"message": text} | ({"taskId": task_id} if task_id else {})
        body |= {"timeoutSeconds": run_timeout_seconds} if run_timeout_seconds else {}
        request = Request("POST", "/api/runs", body=body, idempotency_key=idempotency_key)
        answer = await self.driver.exchange(request)
        return Accepted(self.driver, answer["runId"], answer.get("sessionKey", ""), answer)

    @iteration
    async def events(
        self, *, after: int | None = None, session_key: str | None = None, task_id: str | None = None,
        topic_id: str | None = None, names: Iterable[str] = (), idle_seconds: float | None = None,
    ) -> AsyncGenerator[Event, None]:  # fmt: skip
        """Yield the events of the feed after a number, and then new ones; without a number only new ones.

        A lost connection is resumed where it broke. `names` are names of events or their beginnings. With
        `idle_seconds` it ends once nothing has arrived for that long. `EventsMissed` says that some are lost.
        """
        query = feed_query(session_key, task_id, topic_id, names)
        last = "" if after is None else str(after)
        async with aclosing(frames(self.driver, FEED_PATH, query, last, idle_seconds=idle_seconds)) as feed:
            async for frame in feed:
                if event := read_event(frame):
                    yield event

    @iteration
    def stream(
        self, path: str, query: Query | None = None, *, last_event_id: str = "", idle_seconds: float | None = None,
        seconds: float = math.inf,
    ) -> AsyncGenerator[StreamEvent, None]:  # fmt: skip
        """Yield events as they arrive; after a lost connection, reconnect and resume after the last one seen.

        The stream ends without an error after `seconds`, and with `idle_seconds` once nothing has arrived for that
        long. After some failed attempts in a row it raises `NotReachable`.
        """
        return frames(self.driver, path, query, last_event_id, idle_seconds=idle_seconds, seconds=seconds)

    @operation
    async def get(self, path: str, query: Query | None = None, *, timeout_seconds: float | None = None) -> Any:
        """Send a GET request to any path of the API."""
        return await self.driver.exchange(Request("GET", path, query, timeout_seconds=timeout_seconds))

    @operation
    async def post(
        self, path: str, body: object = None, *, idempotency_key: str = "", timeout_seconds: float | None = None
    ) -> Any:
        """Send a POST request; with an idempotency key it is safe to send it twice."""
        request = Request("POST", path, None, {} if body is None else body, idempotency_key, timeout_seconds)
        return await self.driver.exchange(request)

    @operation
    async def patch(self, path: str, body: object) -> Any:
        """Send a PATCH request."""
        return await self.driver.exchange(Request("PATCH", path, body=body))

    @operation
    async def delete(self, path: str) -> Any:
        """Send a DELETE request."""
        return await self.driver.exchange(Request("DELETE", path))

    @operation
    async def download(self, path: str) -> bytes:
        """Return the bytes of a file."""
        content: bytes = await self.driver.exchange(Request("GET", path, wants_bytes=True))
        return content

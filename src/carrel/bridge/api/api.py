"""What both clients of a server offer; each performs it in its own way."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from carrel.bridge.api.operations import Call, D, Group, operation
from carrel.bridge.api.requests import Address, Query, Request
from carrel.bridge.api.runs import Accepted, Artifacts, Runs, is_session
from carrel.bridge.api.sessions import Sessions
from carrel.bridge.api.shapes import Item
from carrel.bridge.api.tasks import Tasks
from carrel.bridge.local import local_server


class Api(Group[D], ABC):
    """One server, called with one token; every operation returns its result or raises a `BridgeFault`."""

    def __init__(self, url: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        self.address = Address(url, token)
        self._timeout_seconds = timeout_seconds

    @classmethod
    def local(cls, data_dir: Path | str | None = None, *, timeout_seconds: float = 30.0) -> Self:
        """Return a client for the server of this machine and its owner, found as the command line finds them.

        That is the server and token in CARREL_URL and CARREL_TOKEN, else those in the data directory.
        """
        return cls(*local_server(data_dir), timeout_seconds=timeout_seconds)

    @property
    @abstractmethod
    def driver(self) -> D:
        """The client itself."""

    @property
    def url(self) -> str:
        """The address of the server."""
        return self.address.url

    @property
    def token(self) -> str:
        """The token that is sent with every request."""
        return self.address.token

    @property
    def runs(self) -> Runs[D]:
        """Messages on their way to an outcome."""
        return Runs(self.driver)

    @property
    def sessions(self) -> Sessions[D]:
        """Transcripts, and the lanes they are in."""
        return Sessions(self.driver)

    @property
    def artifacts(self) -> Artifacts[D]:
        """What agents added to their runs."""
        return Artifacts(self.driver)

    @property
    def tasks(self) -> Tasks[D]:
        """The tasks of the board."""
        return Tasks(self.driver)

    @operation
    def send(
        self, target: str | None, text: str, *, task_id: str | None = None, run_timeout_seconds: int = 0,
        idempotency_key: str = "",
    ) -> Call[Accepted[D]]:  # fmt: skip
        """Send a message to an agent or a session, without a target to the default agent.

        With an idempotency key it is safe to send it twice. `run_timeout_seconds` limits the work, 0 as the settings
        of the server do.
        """
        body: Item = {} if target is None else {"sessionKey" if is_session(target) else "agentId": target}
        body |= {"message": text} | ({"taskId": task_id} if task_id else {})
        body |= {"timeoutSeconds": run_timeout_seconds} if run_timeout_seconds else {}
        answer = yield Request("POST", "/api/runs", body=body, idempotency_key=idempotency_key)
        return Accepted(self.driver, answer["runId"], answer.get("sessionKey", ""), answer)

    @operation
    def get(self, path: str, query: Query | None = None, *, timeout_seconds: float | None = None) -> Call[Any]:
        """Send a GET request to any path of the API."""
        return (yield Request("GET", path, query, timeout_seconds=timeout_seconds))

    @operation
    def post(
        self, path: str, body: object = None, *, idempotency_key: str = "", timeout_seconds: float | None = None
    ) -> Call[Any]:  # fmt: skip
        """Send a POST request; with an idempotency key it is safe to send it twice."""
        sent = {} if body is None else body
        return (
            yield Request("POST", path, body=sent, idempotency_key=idempotency_key, timeout_seconds=timeout_seconds)
        )

    @operation
    def patch(self, path: str, body: object) -> Call[Any]:
        """Send a PATCH request."""
        return (yield Request("PATCH", path, body=body))

    @operation
    def delete(self, path: str) -> Call[Any]:
        """Send a DELETE request."""
        return (yield Request("DELETE", path))

    @operation
    def download(self, path: str) -> Call[bytes]:
        """Return the bytes of a file."""
        content: bytes = yield Request("GET", path, wants_bytes=True)
        return content

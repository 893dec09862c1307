"""A running server for the browser tests, its scripted model, and a second client."""

import subprocess
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page

from tests.scripted_gateway import Answer, Gate, Request, text

CARREL = Path(sys.executable).with_name("carrel")
START_SECONDS = 30.0
STOP_SECONDS = 20.0

OpenPage = Callable[..., Page]


@dataclass
class ScriptedModel:
    """Replies by message; any other message gets `Noted.`"""

    answers: defaultdict[str, deque[Answer]] = field(default_factory=lambda: defaultdict(deque))

    def on(self, said: str, *answers: Answer) -> None:
        self.answers[said].extend(answers)

    def hold(self, said: str) -> Gate:
        """Hold the reply to a message until the gate is opened."""
        gate = Gate()
        self.on(said, text("Done at last.", before=gate))
        return gate

    def answer(self, request: Request) -> Answer:
        message = newest_line(request.json["input"])
        for said, waiting in self.answers.items():
            if message.endswith(said) and waiting:
                return waiting.popleft()
        return text("Noted.")


def newest_line(sent: Any) -> str:
    """Return the text of the last user message in a request."""
    if isinstance(sent, str):
        return sent.strip()
    last = next(item for item in reversed(sent) if item.get("role") == "user")
    content = last["content"]
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(parts).strip()


@dataclass(frozen=True)
class Server:
    """A server in its own process, and its owner's token."""

    url: str
    token: str

    @property
    def entrance(self) -> str:
        return f"{self.url}/#token={self.token}"

    def client(self) -> "Client":
        headers = {"Authorization": f"Bearer {self.token}"}
        return Client(httpx.Client(base_url=self.url, headers=headers, timeout=20))


@dataclass(frozen=True)
class Client:
    """An API client of the same server."""

    http: httpx.Client

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        answer.raise_for_status()
        parsed: dict[str, Any] = answer.json()
        return parsed

    def open_lane(self, name: str) -> str:
        """Create a chat with a display name and return its key."""
        return str(self.post("/api/sessions", {"channelType": "web", "displayName": name})["sessionKey"])

    def say(self, key: str, line: str) -> str:
        """Send a message to a lane and return the run's id."""
        return str(self.post("/api/chat", {"text": line, "sessionKey": key})["runId"])

    def ended(self, run_id: str) -> None:
        """Wait until the run has ended."""
        self.http.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 15}).raise_for_status()


def start_server(folder: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[str], Server]:
    """Start a server on a free port and wait until it is ready."""
    started = subprocess.Popen(
        [str(CARREL), "serve", "--port", "0", "--data-dir", str(folder)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=(folder / "stderr.txt").open("w"),
        text=True,
    )
    timeout = threading.Timer(START_SECONDS, started.kill)
    timeout.start()
    try:
        assert started.stdout is not None
        url = next((line.split()[1] for line in started.stdout if line.startswith("ready http")), None)
    finally:
        timeout.cancel()
    if url is None:
        raise AssertionError(f"the server did not become ready:\n{(folder / 'stderr.txt').read_text()}")
    return started, Server(url=url, token=(folder / "owner_token").read_text().strip())


def stop_server(started: subprocess.Popen[str]) -> None:
    """Stop the server, and kill it if that takes too long."""
    started.terminate()
    try:
        started.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait(STOP_SECONDS)
    assert started.stdout is not None
    started.stdout.close()

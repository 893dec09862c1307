"""The scripted model behind the server of the browser tests, and a second client."""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from playwright.sync_api import Page

from tests.scripted_gateway import Answer, Gate, Request, text

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

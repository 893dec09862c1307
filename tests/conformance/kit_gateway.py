"""The model behind the server that a conformance kit tests.

The prefix of a message's id says what the kit expects from the agent. This model reads the id from
`metadata.messageId`, as any model can, and uses the tools that every model has: artifacts, a question, a refusal.
"""

import base64
import threading
from typing import Any, Literal

from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text

Otherwise = Literal["complete", "ask"]
# The kit watches such a task for twice its own streaming timeout.
HOLD_SECONDS = 4.0
HELD = "test-resubscribe-message-id"
ASKED_BACK = "tck-input-required"
DECLINED = "tck-reject-task"
# The kit sends this in a task that it wants to continue again.
MORE_TO_COME = "TCK history message"

_FILE = {"filename": "output.txt", "mediaType": "text/plain"}
_BYTES = {"dataBase64": base64.b64encode(b"The content of a file.").decode(), **_FILE}
_CHUNKS: list[dict[str, Any]] = [
    {"text": "chunk-1 ", "artifactId": "chunked"},
    {"text": "chunk-2", "artifactId": "chunked", "append": True},
]

# Longer prefixes come first, because one can be the prefix of another.
ARTIFACTS: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    ("tck-artifact-text", [{"text": "Generated text content"}]),
    ("tck-artifact-file-url", [{"url": "https://example.com/output.txt", **_FILE}]),
    ("tck-artifact-file", [_BYTES]),
    ("tck-artifact-data", [{"data": {"key": "value", "count": 42}}]),
    ("tck-stream-artifact-text", [{"text": "Streamed text content"}]),
    ("tck-stream-artifact-file", [_BYTES]),
    ("tck-stream-artifact-chunked", _CHUNKS),
    ("tck-stream-ordering-001", [{"text": "Ordered output"}]),
    ("tck-stream-001", [{"text": "Stream hello from TCK"}]),
    ("tck-stream-003", [{"text": "Stream task lifecycle"}]),
)
REPLIES = {"tck-complete-task": "Hello from TCK", "tck-message-response": "Direct message response"}


class KitGateway(ScriptedGateway):
    """Does what a message's id asks for, or `otherwise` if it asks for nothing."""

    def __init__(self, otherwise: Otherwise = "complete") -> None:
        super().__init__()
        self.rule = self._act
        self._otherwise = otherwise

    def _act(self, request: Request) -> Answer:
        body: dict[str, Any] = request.json
        items: list[dict[str, Any]] = body["input"]
        name = str(body["metadata"].get("messageId", ""))
        if items[-1].get("type") == "function_call_output":
            return text("Done.")
        for prefix, artifacts in ARTIFACTS:
            if prefix in name:
                return calls(*(("artifact_add", artifact) for artifact in artifacts))
        if DECLINED in name:
            return calls(("decline", {"reason": "rejected"}))
        if HELD in name:
            return text("Done.", before=_opened_after(HOLD_SECONDS))
        if self._asks_back(name, items):
            return calls(("request_input", {"question": "What else?"}))
        return text(next((reply for prefix, reply in REPLIES.items() if prefix in name), "Done."))

    def _asks_back(self, name: str, items: list[dict[str, Any]]) -> bool:
        has_asked = any(item.get("name") == "request_input" for item in items)
        if self._otherwise == "ask":
            return True
        return ASKED_BACK in name and (not has_asked or _newest(items).startswith(MORE_TO_COME))


def _newest(items: list[dict[str, Any]]) -> str:
    """Return the text of the newest user message."""
    newest = next(item for item in reversed(items) if item.get("role") == "user")
    return str(newest["content"][-1].get("text", ""))


def _opened_after(seconds: float) -> Gate:
    gate = Gate()
    timer = threading.Timer(seconds, gate.open)
    timer.daemon = True
    timer.start()
    return gate

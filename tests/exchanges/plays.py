"""A model for both sides of a spawn: the requester that spawns when asked to, and the child that works."""

import json
from collections.abc import Callable
from typing import Any

from carrel.exchanges.prompts import NOTES_WANTED
from tests.scripted_gateway import Answer, Request, ScriptedGateway, calls, text

Words = str | Answer


class Play:
    """`child` and `notes` are the child's replies to its task and to its announce step; both may be functions."""

    def __init__(self, gateway: ScriptedGateway) -> None:
        self.child: Words | Callable[[Request], Words] = "twelve sheep"
        self.notes: Words | Callable[[Request], Words] = "one was a goat"
        self.heard: list[tuple[str, str]] = []
        gateway.rule = self._answer

    def _answer(self, request: Request) -> Answer:
        key = request.headers["x-openclaw-session-key"]
        said = newest_words(request.json["input"])
        self.heard.append((key, said))
        if ":subagent:" in key:
            return _played(self.notes if said.endswith(NOTES_WANTED) else self.child, request)
        if request.json["input"][-1].get("type") == "function_call_output":
            return text("spawned")
        if said.startswith("spawn "):
            return calls(*(("sessions_spawn", one) for one in json.loads(said.removeprefix("spawn "))))
        return text(f"heard {said.partition(chr(10))[0]}")


def spawn(*wanted: dict[str, Any]) -> str:
    """Return the message that makes the requester spawn these."""
    return f"spawn {json.dumps(wanted)}"


def newest_words(sent: Any) -> str:
    """Return the text of the newest user message in a request's input."""
    newest = next(item for item in reversed(sent) if item.get("role") == "user")
    return str(newest["content"][-1]["text"])


def _played(part: Words | Callable[[Request], Words], request: Request) -> Answer:
    said = part(request) if callable(part) else part
    return text(said) if isinstance(said, str) else said

"""The model behind OpenClaw: it answers what the walk has arranged for a phrase, and otherwise that it has heard."""

import re
import threading
from collections.abc import Sequence
from typing import Any

from tests.scripted_dialects import ScriptedChat
from tests.scripted_gateway import Answer, Request, text

Message = dict[str, Any]
# What Carrel asks a model for itself, such as where entries belong.
ASKED_BY_CARREL = "[carrel:internal-request]"
SORTED = '{"topic": null, "newTopic": "Life on the farm", "task": null, "summaries": []}'
BLOCK = re.compile(r"\[(?:CARREL|CLAWBOARD)_CONTEXT_BEGIN\](.*?)\[(?:CARREL|CLAWBOARD)_CONTEXT_END\]", re.DOTALL)


class WalkedModel(ScriptedChat):
    """A scripted model; one `play` is a phrase in what was said last, and the answers to it, tool calls first."""

    def __init__(self) -> None:
        super().__init__()
        self._plays: dict[str, Sequence[Answer]] = {}
        self._playing = threading.Lock()
        self.rule = self._answer

    def play(self, phrase: str, *answers: Answer) -> None:
        """Arrange the answers to whoever says this: one for each request until the turn is over."""
        with self._playing:
            self._plays[phrase] = answers

    def asked_about(self, phrase: str) -> list[Request]:
        """Return the requests whose last words hold a phrase."""
        return [request for request in self.requests if phrase in last_words(request)]

    def _answer(self, request: Request) -> Answer:
        if any(ASKED_BY_CARREL in words_of(message) for message in messages_of(request)):
            # It quotes what was said elsewhere, and nobody says it now.
            return text(SORTED)
        said, results = last_words(request), results_since(request)
        with self._playing:
            # What is said now stands after what is quoted.
            phrase = max(self._plays, key=said.rfind, default="")
            answers = self._plays[phrase] if phrase and phrase in said else (text("I have heard that."),)
        return answers[min(results, len(answers) - 1)]


def messages_of(request: Request) -> list[Message]:
    """Return the messages of a request."""
    found: list[Message] = request.json["messages"]
    return found


def words_of(message: Message) -> str:
    """Return the text of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    return "\n".join(str(part.get("text", "")) for part in parts)


def last_words(request: Request) -> str:
    """Return what was said after the model's last answer that was not a tool call."""
    said: list[str] = []
    for message in messages_of(request):
        if message["role"] == "assistant" and not message.get("tool_calls"):
            said = []
        elif message["role"] == "user":
            # What the block recalls was said at another time.
            said.append(BLOCK.sub("", words_of(message)))
    return "\n".join(said)


def results_since(request: Request) -> int:
    """Return how many rounds of tools have been made since somebody said something."""
    rounds = 0
    for message in messages_of(request):
        if message["role"] == "assistant":
            rounds = rounds + 1 if message.get("tool_calls") else 0
    return rounds

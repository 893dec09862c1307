"""A run of another server, put together from its answers and events. Pure; who fetches those is the caller's affair."""

from typing import Any

from carrel.a2a.shapes import Item, items_of, state_word

BETWEEN_ARTIFACTS = "\n\n"
_ENDED = frozenset({"completed", "failed", "canceled", "rejected"})
_ASKING = frozenset({"input-required", "auth-required"})


class RemoteRun:
    """A run of another server (A2A calls it a task), put together from whatever tells of it.

    Some servers answer with a message and make no task of it; then `id` stays empty and the run has ended at once.
    """

    def __init__(self, event: Item | None = None) -> None:
        self.id = ""
        self.context_id = ""
        self.status: Item = {}
        self.artifacts: list[Item] = []
        self.history: list[Item] = []
        self.message: Item | None = None
        self._places: dict[str, int] = {}
        self._speaking: int | None = None
        if event is not None:
            self.take(event)

    @property
    def state(self) -> str:
        """The state in a word, such as `working` or `input-required`; a message is a completed answer."""
        return "completed" if self.message is not None else state_word(str(self.status.get("state", "")))

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in _ENDED

    @property
    def is_asking(self) -> bool:
        """Whether it waits for somebody to say something."""
        return self.state in _ASKING

    @property
    def is_resting(self) -> bool:
        """Whether nothing more comes of it by itself."""
        return self.has_ended or self.is_asking

    @property
    def text(self) -> str:
        """What came out of it: the texts of its artifacts in order, else of what it says itself."""
        texts = [_text(artifact) for artifact in self.artifacts]
        return BETWEEN_ARTIFACTS.join(text for text in texts if text) or self.said

    @property
    def has_files(self) -> bool:
        """Whether something other than text came out of it."""
        return any("text" not in part for artifact in self.artifacts for part in artifact["parts"])

    @property
    def said(self) -> str:
        """The text that goes with its state: the question, the reason, or the whole answer of a message."""
        message = self.message if self.message is not None else self.status.get("message")
        return message_words(message) if isinstance(message, dict) else ""

    def take(self, event: Item) -> str:
        """Take in one event, or a task or message that was read; gives the text that it adds to the result."""
        match event:
            case {"task": task}:
                return self._take_task(task)
            case {"message": message}:
                self.message = message
                return message_words(message)
            case {"statusUpdate": update}:
                self._name(update.get("taskId"), update.get("contextId"))
                self.status = update["status"]
            case {"artifactUpdate": update}:
                self._name(update.get("taskId"), update.get("contextId"))
                return self._take_artifact(update["artifact"], append=update.get("append") is True)
        return ""

    def _take_task(self, task: Item) -> str:
        self._name(task.get("id"), task.get("contextId"))
        self.status = task["status"]
        self.history = items_of(task.get("history"))
        was_silent = self._speaking is None
        self._places.clear()
        self.artifacts = []
        told = [self._take_artifact(artifact, append=False) for artifact in items_of(task.get("artifacts"))]
        return "".join(told) if was_silent else ""

    def _take_artifact(self, artifact: Item, *, append: bool) -> str:
        artifact_id = str(artifact.get("artifactId") or "")
        place = self._places.get(artifact_id) if artifact_id else None
        # Kept apart from the event, because pieces that come later are put into it.
        kept = artifact | {"parts": list(artifact["parts"])}
        if place is None:
            place = self._places[artifact_id] = len(self.artifacts)
            self.artifacts.append(kept)
        elif append:
            self.artifacts[place]["parts"].extend(artifact["parts"])
        else:
            self.artifacts[place] = kept
            return ""
        return self._speak(place, _text(artifact))

    def _speak(self, place: int, text: str) -> str:
        """The text with the gap before it that the whole will have there; nothing for what comes out of order."""
        if not text or (self._speaking is not None and place < self._speaking):
            return ""
        gap = BETWEEN_ARTIFACTS if self._speaking not in (None, place) else ""
        self._speaking = place
        return gap + text

    def _name(self, task_id: Any, context_id: Any) -> None:
        self.id = self.id or (task_id if isinstance(task_id, str) else "")
        self.context_id = self.context_id or (context_id if isinstance(context_id, str) else "")


def _text(whole: Item) -> str:
    """The text in the parts of a message or artifact: one text, because streams cut it anywhere."""
    return "".join(part["text"] for part in items_of(whole.get("parts")) if isinstance(part.get("text"), str))


def message_words(message: Item) -> str:
    """What a message says to a person: its texts, and the links it gives, a line each."""
    told = [part.get("text") or part.get("url") for part in items_of(message.get("parts"))]
    return "\n".join(line for line in told if isinstance(line, str) and line)

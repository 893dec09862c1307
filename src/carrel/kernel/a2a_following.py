"""A piece of work at another server, as its answers and events tell it. Pure; who fetches them is the caller's affair."""

from typing import Any

from carrel.kernel.a2a_shapes import Item, items_of

BETWEEN_ARTIFACTS = "\n\n"
COMPLETED = "TASK_STATE_COMPLETED"
FAILED = "TASK_STATE_FAILED"
CANCELED = "TASK_STATE_CANCELED"
REJECTED = "TASK_STATE_REJECTED"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
_ENDED = frozenset({COMPLETED, FAILED, CANCELED, REJECTED})
_ASKING = frozenset({INPUT_REQUIRED, AUTH_REQUIRED})


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
        """The state as 1.0 names it; a message is a completed answer."""
        return COMPLETED if self.message is not None else str(self.status.get("state", ""))

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in _ENDED

    @property
    def is_asking(self) -> bool:
        """Whether it waits for somebody to say something."""
        return self.state in _ASKING

    @property
    def text(self) -> str:
        """What came out of it: the texts of its artifacts in order, else of what it says itself."""
        texts = [text_of(artifact) for artifact in self.artifacts]
        return BETWEEN_ARTIFACTS.join(text for text in texts if text) or self.said

    @property
    def said(self) -> str:
        """The text that goes with its state: the question, the reason, or the whole answer of a message."""
        message = self.message if self.message is not None else self.status.get("message")
        return words_of(message) if isinstance(message, dict) else ""

    def take(self, event: Item) -> str:
        """Take in one event, or a task or message that was read; gives the text that it adds to the result."""
        match event:
            case {"task": task}:
                return self._take_task(task)
            case {"message": message}:
                self.message = message
                return text_of(message)
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
        place = self._places.get(artifact_id)
        if place is None:
            place = self._places[artifact_id] = len(self.artifacts)
            self.artifacts.append(artifact)
        elif append:
            known = self.artifacts[place]
            known["parts"] = [*known["parts"], *artifact["parts"]]
        else:
            self.artifacts[place] = artifact
            return ""
        return self._speak(place, text_of(artifact))

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


def text_of(whole: Item) -> str:
    """The text in the parts of a message or artifact: one text, because streams cut it anywhere."""
    return "".join(part["text"] for part in items_of(whole.get("parts")) if isinstance(part.get("text"), str))


def words_of(message: Item) -> str:
    """What a message says to a person: its text, and the links it gives."""
    links = [part["url"] for part in items_of(message.get("parts")) if isinstance(part.get("url"), str)]
    return "\n".join([text for text in (text_of(message), *links) if text])

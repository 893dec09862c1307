"""A task on another server, assembled from its responses and events; the caller fetches those."""

from typing import Any

from carrel.a2a.shapes import Item, items_of, short_state

BETWEEN_ARTIFACTS = "\n\n"
_ENDED = frozenset({"completed", "failed", "canceled", "rejected"})
_ASKING = frozenset({"input-required", "auth-required"})


class RemoteTask:
    """A task on another server, assembled from every response and event about it.

    Some servers reply with a message and create no task; then `id` stays empty and the task counts as completed.
    """

    def __init__(self, event: Item | None = None) -> None:
        self.id = ""
        self.context_id = ""
        self.status: Item = {}
        self.artifacts: list[Item] = []
        self.history: list[Item] = []
        self.message: Item | None = None
        self._index: dict[str, int] = {}
        # The artifact whose text was returned last; earlier ones add nothing.
        self._current: int | None = None
        if event is not None:
            self.apply(event)

    @property
    def state(self) -> str:
        """The short state, such as `working` or `input-required`; a message counts as completed."""
        return "completed" if self.message is not None else short_state(str(self.status.get("state", "")))

    @property
    def has_ended(self) -> bool:
        """Whether the task is in a final state."""
        return self.state in _ENDED

    @property
    def is_asking(self) -> bool:
        """Whether the task waits for input or authorization."""
        return self.state in _ASKING

    @property
    def is_settled(self) -> bool:
        """Whether the task has ended or waits for its caller."""
        return self.has_ended or self.is_asking

    @property
    def text(self) -> str:
        """The result: the texts of the artifacts in order, or the status text if there are none."""
        texts = [_text(artifact) for artifact in self.artifacts]
        return BETWEEN_ARTIFACTS.join(text for text in texts if text) or self.status_text

    @property
    def has_files(self) -> bool:
        """Whether any artifact has a part that is not text."""
        return any("text" not in part for artifact in self.artifacts for part in artifact["parts"])

    @property
    def status_text(self) -> str:
        """The text that goes with the state: the question, the reason, or all of a message reply."""
        message = self.message if self.message is not None else self.status.get("message")
        return message_text(message) if isinstance(message, dict) else ""

    def apply(self, event: Item) -> str:
        """Apply an event, task or message, and return the text it adds to the result."""
        match event:
            case {"task": task}:
                return self._apply_task(task)
            case {"message": message}:
                self.message = message
                return message_text(message)
            case {"statusUpdate": update}:
                self._set_ids(update.get("taskId"), update.get("contextId"))
                self.status = update["status"]
            case {"artifactUpdate": update}:
                self._set_ids(update.get("taskId"), update.get("contextId"))
                return self._apply_artifact(update["artifact"], append=update.get("append") is True)
        return ""

    def _apply_task(self, task: Item) -> str:
        self._set_ids(task.get("id"), task.get("contextId"))
        self.status = task["status"]
        self.history = items_of(task.get("history"))
        is_first_text = self._current is None
        self._index.clear()
        self.artifacts = []
        added = [self._apply_artifact(artifact, append=False) for artifact in items_of(task.get("artifacts"))]
        return "".join(added) if is_first_text else ""

    def _apply_artifact(self, artifact: Item, *, append: bool) -> str:
        artifact_id = str(artifact.get("artifactId") or "")
        index = self._index.get(artifact_id) if artifact_id else None
        # A copy, because later chunks are appended to it and the event is the caller's.
        copy = artifact | {"parts": list(artifact["parts"])}
        if index is None:
            index = self._index[artifact_id] = len(self.artifacts)
            self.artifacts.append(copy)
        elif append:
            self.artifacts[index]["parts"].extend(artifact["parts"])
        else:
            self.artifacts[index] = copy
            return ""
        return self._added_text(index, _text(artifact))

    def _added_text(self, index: int, text: str) -> str:
        """Return the text with the separator it needs at that point; empty for text that arrives out of order."""
        if not text or (self._current is not None and index < self._current):
            return ""
        separator = BETWEEN_ARTIFACTS if self._current not in (None, index) else ""
        self._current = index
        return separator + text

    def _set_ids(self, task_id: Any, context_id: Any) -> None:
        self.id = self.id or (task_id if isinstance(task_id, str) else "")
        self.context_id = self.context_id or (context_id if isinstance(context_id, str) else "")


def _text(owner: Item) -> str:
    """Return the joined text parts of a message or artifact; no separators, because streams split anywhere."""
    return "".join(part["text"] for part in items_of(owner.get("parts")) if isinstance(part.get("text"), str))


def message_text(message: Item) -> str:
    """Return a message as a person reads it: its texts and links, one per line."""
    lines = [part.get("text") or part.get("url") for part in items_of(message.get("parts"))]
    return "\n".join(line for line in lines if isinstance(line, str) and line)

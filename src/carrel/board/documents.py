"""Topics, tasks and entries of the board as documents of search, and where they are visible."""

from collections.abc import Iterable

from carrel.board.document_store import FoundTask, FoundTopic, found_tasks, found_topics, ids_after
from carrel.board.filters import is_tool_trace, verdict
from carrel.journal import DEFAULT_SPACE, Entry, entries_by_id
from carrel.kernel import Access
from carrel.search import Document, Subject, SubjectKind
from carrel.storage import Tx
from carrel.visibility import Recalls


class BoardDocuments:
    """The stored board, for the index and for checking its results."""

    ids_after = staticmethod(ids_after)

    def documents(self, tx: Tx, access: Access, subjects: Iterable[Subject], *, tool_calls: bool) -> list[Document]:
        """Return the findable ones of these subjects, in their current state."""
        ids: dict[SubjectKind, list[str]] = {"topic": [], "task": [], "entry": []}
        for kind, name in dict.fromkeys(subjects):
            ids[kind].append(name)
        entries = [entry for entry in entries_by_id(tx, access, ids["entry"]) if is_found(entry, tool_calls=tool_calls)]
        worked_on = [one.task_id for one in entries if one.task_id is not None]
        tasks = found_tasks(tx, access, dict.fromkeys([*ids["task"], *worked_on]))
        within = [*(one.topic_id for one in entries), *(one.topic_id for one in tasks.values())]
        topics = found_topics(tx, access, dict.fromkeys([*ids["topic"], *filter(None, within)]))
        recalls = Recalls(tx, access, (one.key for one in entries if one.key is not None))
        asked = (tasks[name] for name in ids["task"] if name in tasks)
        return [
            *(document_of_topic(topics[name]) for name in ids["topic"] if name in topics),
            *(document_of_task(task, topics) for task in asked if not task.is_chat),
            *(document_of_entry(recalls, entry, tasks, topics) for entry in entries),
        ]


def is_found(entry: Entry, *, tool_calls: bool) -> bool:
    """Return whether an entry can be found: it says something, and is no noise."""
    # The task itself shows its activities.
    if not entry.content.strip() or entry.task_view == "activities":
        return False
    return tool_calls if is_tool_trace(entry) else verdict(entry) is None


def document_of_topic(topic: FoundTopic) -> Document:
    """Return a topic as it is indexed: without its tags and digest."""
    return Document(
        kind="topic", id=topic.id, label=topic.name, text=topic.description, at=topic.created_at, spaces=topic.spaces
    )


def document_of_task(task: FoundTask, topics: dict[str, FoundTopic]) -> Document:
    """Return a task as it is indexed: visible in its own space and in those of its topic."""
    return Document(
        kind="task",
        id=task.id,
        label=task.title,
        text=task.description,
        at=task.created_at,
        spaces=_spaces(task.space_id, _topic_spaces(topics, task.topic_id)),
        topic_id=task.topic_id,
    )


def document_of_entry(
    recalls: Recalls, entry: Entry, tasks: dict[str, FoundTask], topics: dict[str, FoundTopic]
) -> Document:  # fmt: skip
    """Return an entry as it is indexed: visible in its own space, in its task's and in its topic's."""
    task = tasks.get(entry.task_id or "")
    if task is not None and task.is_chat:
        # The orchestrator chat is not on the board: its messages belong to its participants.
        task = None
    task_id, task_topic = (None, None) if task is None else (task.id, task.topic_id)
    above = (*_topic_spaces(topics, entry.topic_id), *_topic_spaces(topics, task_topic))
    inherited = above if task is None else (task.space_id, *above)
    own = entry.space_id or (None if inherited else DEFAULT_SPACE)
    lane = recalls.of(entry.key)
    return Document(
        kind="note" if entry.type == "note" else "log",
        id=entry.id,
        text=entry.content,
        at=entry.created_at,
        speaker=entry.agent_label or ("" if entry.author in ("user", "system") else entry.author),
        spaces=_spaces(own, inherited),
        topic_id=entry.topic_id,
        task_id=task_id,
        task_topic_id=task_topic,
        session_key=entry.session_key,
        sequence=entry.seq,
        # An entry that could not be sorted is found only by its session.
        on_board=recalls.is_on_board(entry) and (entry.topic_id or task_id) is not None,
        is_alone=lane.private_to is not None or (entry.key is not None and not inherited and entry.space_id is None),
        private_to=lane.private_to,
    )


def _topic_spaces(topics: dict[str, FoundTopic], topic_id: str | None) -> tuple[str, ...]:
    topic = topics.get(topic_id or "")
    return () if topic is None else topic.spaces


def _spaces(own: str | None, others: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(space for space in (own, *others) if space is not None))

"""What can be found, who may find it, and what is found. Pure."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Literal

import msgspec
from msgspec import Struct

from carrel.kernel import invalid
from carrel.kernel.limits import SEARCH_FOUND_DEFAULT, SEARCH_FOUND_MAX, SEARCH_QUERY_CHARS_MAX, SEARCH_SPACES_MAX

Mode = Literal["hybrid", "lexical"]
DocumentKind = Literal["topic", "task", "log", "note"]
KINDS: tuple[DocumentKind, ...] = ("topic", "task", "log", "note")


class Document(Struct, frozen=True, kw_only=True):
    """A topic, a task, an entry or a note as it is indexed. Tags and digests are no part of its text."""

    kind: DocumentKind
    id: str
    text: str
    at: int
    # The name of a topic, the title of a task; also found by.
    label: str = ""
    # The name of the person or agent who said it.
    speaker: str = ""
    # The spaces in which it is visible; in none, only those find it who look in the whole account.
    spaces: tuple[str, ...] = ()
    topic_id: str | None = None
    task_id: str | None = None
    # The topic of its task, where that is another: it is found there as well.
    task_topic_id: str | None = None
    # Where it was said, and its place there; what was said before and after it tells what it is about.
    session_key: str | None = None
    sequence: int = 0
    # Whose chat it was said in; None where people share the session. What is on the board is everybody's anyway.
    private_to: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether all in its spaces may find it; an entry that belongs to no topic or task is its session's alone."""
        return self.kind != "log" or self.topic_id is not None or self.task_id is not None

    def reach(self, account_id: str) -> tuple[str, ...]:
        """Return the marks under which it may be found: one of them must be among those of a query."""
        viewers = ["owner"]
        if self.is_open:
            viewers.append("all")
        else:
            viewers.append("users" if self.private_to is None else f"user {self.private_to}")
            viewers += [] if self.session_key is None else [f"session {self.session_key}"]
        return tuple(_mark("v", account_id, viewer, space) for viewer in viewers for space in (*self.spaces, None))

    def places(self, account_id: str) -> tuple[str, ...]:
        """Return the marks of its topic and its task."""
        topic = self.id if self.kind == "topic" else self.topic_id
        task = self.id if self.kind == "task" else self.task_id
        return tuple(dict.fromkeys(_places(account_id, topic, task) + _places(account_id, self.task_topic_id, None)))


class Scope(Struct, frozen=True):
    """A part of an account: the documents that have one of the marks and all of the places."""

    marks: tuple[str, ...]
    places: tuple[str, ...] = ()

    def has(self, reach: Iterable[str], places: Iterable[str]) -> bool:
        """Return whether a document with those marks is in it."""
        own = set(places)
        # What belongs to a task has its mark among its places.
        return not own.union(reach).isdisjoint(self.marks) and own.issuperset(self.places)


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What is looked for, and in which part of an account."""

    text: str
    # The spaces to look in; None for the whole account.
    spaces: tuple[str, ...] | None = None
    # Agents find what belongs to no topic or task in their own session only; users find what is shared and what was
    # said in their own chats; owners find everything.
    viewer: Literal["agent", "user", "owner"] = "agent"
    user_id: str = ""
    session_key: str | None = None
    topic_id: str | None = None
    task_id: str | None = None
    # Tasks that are searched in whatever spaces they are.
    own_tasks: tuple[str, ...] = ()
    # Names of those who speak there: a name in the text says whose words are meant.
    names: tuple[str, ...] = ()
    # For whoever cannot wait: what is looked at is bounded, however many documents there are, the newest first.
    quick: bool = False
    topics_max: int = SEARCH_FOUND_DEFAULT["topic"]
    tasks_max: int = SEARCH_FOUND_DEFAULT["task"]
    logs_max: int = SEARCH_FOUND_DEFAULT["log"]
    notes_max: int = SEARCH_FOUND_DEFAULT["note"]

    def scope(self, account_id: str) -> "Scope":
        """Return what is searched: what the viewer may find, at the topic and the task that are asked for."""
        own = [] if self.session_key is None else [f"session {self.session_key}"]
        viewers = {"owner": ["owner"], "user": ["all", "users", f"user {self.user_id}"], "agent": ["all", *own]}
        spaces = (None,) if self.spaces is None else tuple(dict.fromkeys(self.spaces))
        reach = (_mark("v", account_id, viewer, space) for viewer in viewers[self.viewer] for space in spaces)
        own_tasks = (place_mark(account_id, "task", task_id) for task_id in self.own_tasks)
        return Scope((*reach, *own_tasks), _places(account_id, self.topic_id, self.task_id))

    def finds(self, account_id: str, document: Document) -> bool:
        """Return whether a document is among those that are searched."""
        return self.scope(account_id).has(document.reach(account_id), document.places(account_id))

    def limits(self) -> dict[DocumentKind, int]:
        """Return how many of each kind are wanted at most."""
        asked = dict(zip(KINDS, (self.topics_max, self.tasks_max, self.logs_max, self.notes_max), strict=True))
        return {kind: max(0, min(limit, SEARCH_FOUND_MAX[kind])) for kind, limit in asked.items()}

    def check(self) -> None:
        """Refuse a text that is empty or too long, and too many spaces."""
        if not self.text.strip() or len(self.text) > SEARCH_QUERY_CHARS_MAX:
            raise invalid("q", f"q must have 1 to {SEARCH_QUERY_CHARS_MAX} characters.")
        if self.spaces is not None and len(self.spaces) > SEARCH_SPACES_MAX:
            raise invalid("allowedSpaceIds", f"At most {SEARCH_SPACES_MAX} spaces can be searched at once.")


class Reason(Struct, frozen=True, kw_only=True):
    """Why something was found: what each part adds to the score."""

    words: float
    meaning: float
    note: float
    session: float
    label: float


class Hit(Struct, frozen=True, kw_only=True):
    """A document that was found. The score is between 0 and 1 and means the same for every query."""

    kind: DocumentKind
    id: str
    score: float
    reason: Reason


class Found(Struct, frozen=True, kw_only=True):
    """What a query has found, best first; `dense` says whether meanings were compared, or words alone."""

    topics: tuple[Hit, ...] = ()
    tasks: tuple[Hit, ...] = ()
    logs: tuple[Hit, ...] = ()
    notes: tuple[Hit, ...] = ()
    dense: bool = False
    # How long it had to wait for other searches.
    gate_wait_ms: int = 0

    @property
    def mode(self) -> Mode:
        """How it was searched."""
        return "hybrid" if self.dense else "lexical"


def _mark(kind: str, account_id: str, *names: str | None) -> str:
    """A token that no word can equal, since words have no underscore."""
    named = msgspec.json.encode((account_id, *names))
    return f"{kind}_{blake2b(named, digest_size=10).hexdigest()}"


def is_mark(term: str) -> bool:
    """Return whether a term of a document is a mark, and not a word."""
    return "_" in term


def place_mark(account_id: str, kind: str, name: str) -> str:
    """Return the mark of what belongs to a topic or a task; nothing belongs to anything else."""
    return _mark({"topic": "t", "task": "w"}.get(kind, "n"), account_id, name)


def space_mark(account_id: str, name: str) -> str:
    """Return the mark of what is visible in a space: owners find all of it."""
    return _mark("v", account_id, "owner", name)


def _places(account_id: str, topic: str | None, task: str | None) -> tuple[str, ...]:
    named = (("topic", topic), ("task", task))
    return tuple(place_mark(account_id, kind, name) for kind, name in named if name is not None)

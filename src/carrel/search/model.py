"""Documents, who may find them, queries and results. Pure."""

from collections.abc import Iterable
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from carrel.kernel import Shape, invalid
from carrel.kernel.limits import SEARCH_FOUND_DEFAULT, SEARCH_FOUND_MAX, SEARCH_QUERY_CHARS_MAX, SEARCH_SPACES_MAX
from carrel.visibility import Findable, Viewer, mark

SearchMode = Literal["hybrid", "lexical"]
DocumentKind = Literal["topic", "task", "log", "note"]
KINDS: tuple[DocumentKind, ...] = ("topic", "task", "log", "note")


class Document(Struct, frozen=True, kw_only=True):
    """A topic, a task, an entry or a note as it is indexed. Its text excludes tags and digests."""

    kind: DocumentKind
    id: str
    text: str
    at: int
    # Topic name or task title; searched as well.
    label: str = ""
    # The name of the person or agent who said it.
    speaker: str = ""
    # The spaces in which it is visible; if empty, only searches of the whole account find it.
    spaces: tuple[str, ...] = ()
    topic_id: str | None = None
    task_id: str | None = None
    # The topic of its task, if it is another one: the document is found there as well.
    task_topic_id: str | None = None
    # Where it was said, and its position there; its neighbours tell what it is about.
    session_key: str | None = None
    sequence: int = 0
    # Whether everybody who searches the board may find it; otherwise only its session and its task do.
    on_board: bool = False
    # Whether its session finds it whatever spaces the session may see.
    is_alone: bool = False
    # Whose chat it was said in; None if people share the session.
    private_to: str | None = None

    def reach(self, account_id: str) -> tuple[str, ...]:
        """Return its visibility marks: a query must have one of them."""
        return self.findable.marks(account_id)

    @property
    def findable(self) -> Findable:
        """The fields that decide who may find it."""
        return Findable(
            spaces=self.spaces,
            is_kept=self.kind != "log",
            on_board=self.on_board,
            private_to=self.private_to,
            session_key=self.session_key,
            is_alone=self.is_alone,
            task_id=self.task_id,
            own_id=self.id if self.kind == "task" else None,
        )

    def places(self, account_id: str) -> tuple[str, ...]:
        """Return the marks of its topic and its task."""
        topic = self.id if self.kind == "topic" else self.topic_id
        task = self.id if self.kind == "task" else self.task_id
        return tuple(dict.fromkeys(_places(account_id, topic, task) + _places(account_id, self.task_topic_id, None)))


class Scope(Struct, frozen=True):
    """A part of an account: the documents with one of the marks and all of the places."""

    marks: tuple[str, ...]
    places: tuple[str, ...] = ()

    def has(self, reach: Iterable[str], places: Iterable[str]) -> bool:
        """Return whether a document with those marks is in it."""
        return not set(reach).isdisjoint(self.marks) and set(places).issuperset(self.places)


class Query(Struct, frozen=True, kw_only=True):
    """What to search for, optionally only at a topic or a task, and how many results of each kind."""

    text: str
    topic_id: str | None = None
    task_id: str | None = None
    # For callers that cannot wait: only a limited number of documents is considered, newest first.
    quick: bool = False
    topics_max: int = SEARCH_FOUND_DEFAULT["topic"]
    tasks_max: int = SEARCH_FOUND_DEFAULT["task"]
    logs_max: int = SEARCH_FOUND_DEFAULT["log"]
    notes_max: int = SEARCH_FOUND_DEFAULT["note"]


class SearchQuery(Query, frozen=True, kw_only=True):
    """A query, and the part of an account to search."""

    viewer: Viewer = Viewer()
    # Names of those who speak there: a name in the text says whose words are meant.
    names: tuple[str, ...] = ()

    def scope(self, account_id: str) -> "Scope":
        """Return what is searched: what the viewer may find, at the given topic and task."""
        return Scope(self.viewer.marks(account_id), _places(account_id, self.topic_id, self.task_id))

    def finds(self, account_id: str, document: Document) -> bool:
        """Return whether a document is in the searched part."""
        return self.scope(account_id).has(document.reach(account_id), document.places(account_id))

    def limits(self) -> dict[DocumentKind, int]:
        """Return the maximum number of results of each kind."""
        asked = dict(zip(KINDS, (self.topics_max, self.tasks_max, self.logs_max, self.notes_max), strict=True))
        return {kind: max(0, min(limit, SEARCH_FOUND_MAX[kind])) for kind, limit in asked.items()}

    def check(self) -> None:
        """Refuse a text that is empty or too long, and too many spaces."""
        if not self.text.strip() or len(self.text) > SEARCH_QUERY_CHARS_MAX:
            raise invalid("q", f"q must have 1 to {SEARCH_QUERY_CHARS_MAX} characters.")
        if self.viewer.spaces is not None and len(self.viewer.spaces) > SEARCH_SPACES_MAX:
            raise invalid("allowedSpaceIds", f"At most {SEARCH_SPACES_MAX} spaces can be searched at once.")


class HitReason(Shape, frozen=True, kw_only=True):
    """What each part adds to a score."""

    words: float
    meaning: float
    note: float
    session: float
    label: float


InTopics = TypeVar("InTopics")
InTasks = TypeVar("InTasks")
InLogs = TypeVar("InLogs")


class Hit(Struct, frozen=True, kw_only=True):
    """A document that was found. The score is between 0 and 1 and means the same for every query."""

    kind: DocumentKind
    id: str
    score: float
    reason: HitReason
    # Its number within its session; documents with near numbers belong together.
    position: int = 0


class FoundOf(Struct, Generic[InTopics, InTasks, InLogs], frozen=True, kw_only=True):
    """What a query found, best first; `dense` says whether meanings were compared, or only words."""

    topics: tuple[InTopics, ...] = ()
    tasks: tuple[InTasks, ...] = ()
    logs: tuple[InLogs, ...] = ()
    notes: tuple[InLogs, ...] = ()
    dense: bool = False
    # How long it had to wait for other searches.
    gate_wait_ms: int = 0

    @property
    def mode(self) -> SearchMode:
        return "hybrid" if self.dense else "lexical"


class SearchResult(FoundOf[Hit, Hit, Hit], frozen=True, kw_only=True):
    """The documents that a query found."""


# The mark of everything but entries, which may be very many.
KEPT = "k_kept"
_TOPIC = "t"


def place_mark(account_id: str, kind: str, name: str) -> str:
    """Return the mark of everything that belongs to a topic or a task."""
    return mark({"topic": _TOPIC, "task": "w"}.get(kind, "n"), account_id, name)


def topic_of(places: str) -> str:
    """Return the mark of the topic among marks of places, else of the task; empty if there is neither."""
    marks = places.split()
    return next((one for one in marks if one.startswith(f"{_TOPIC}_")), marks[0] if marks else "")


def _places(account_id: str, topic: str | None, task: str | None) -> tuple[str, ...]:
    named = (("topic", topic), ("task", task))
    return tuple(place_mark(account_id, kind, name) for kind, name in named if name is not None)

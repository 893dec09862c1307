"""A memory: one kept fact, in one scope. Pure."""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Annotated, Generic, Literal

from msgspec import UNSET, Struct, UnsetType

from carrel.kernel import Code, Input, Refusal, Shape, When, invalid, limits
from carrel.kernel.fields import Moment, at_most, checked, up_to
from carrel.memory.scopes import GLOBAL_SCOPE, Scope, ScopeKind
from carrel.search import STOP_WORDS
from carrel.search import words_of as stems_of

MemoryType = Literal["decision", "constraint", "failure", "fix", "preference", "fact", "task_state", "result"]
# Shorter words are in almost every sentence, unless they contain a digit.
_WORD = re.compile(r"\w*\d\w*|\w{3,}")
# The confidence in a person's or an agent's own words; extracted facts have a lower one.
STATED = 0.9

# This room checks these and words the refusals; here they are only described.
Content = Annotated[str, checked(minLength=1, maxLength=limits.MEMORY_CONTENT_CHARS_MAX)]
Title = Annotated[str, up_to(limits.MEMORY_TITLE_CHARS_MAX)]
Tags = Annotated[tuple[Annotated[str, up_to(limits.MEMORY_TAG_CHARS_MAX)], ...], at_most(limits.MEMORY_TAGS_MAX)]

# The scope of each type of memory; if the run has none, the next wider one.
_NARROWEST: dict[MemoryType, ScopeKind] = {
    "task_state": "task",
    "result": "task",
    "failure": "task",
    "fix": "task",
    "decision": "goal",
    "constraint": "goal",
    "preference": "session",
    "fact": "session",
}
# Types that hold for every answer, and the scopes of the task and goal that a run works on.
_STANDING: tuple[MemoryType, ...] = ("preference", "constraint")
_OF_WORK = ("task:", "goal:")
_WIDER: tuple[ScopeKind, ...] = ("task", "goal", "session")


class _MemoryFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    scope: str | None
    type: MemoryType
    title: str
    content: str
    tags: tuple[str, ...]
    confidence: float
    created_by: str
    created_at: When
    updated_at: When
    expires_at: When | None
    promoted_from: str | None


class Memory(_MemoryFields[int], frozen=True, kw_only=True):
    """A memory; its fields are the columns of its table."""

    agent_id: str
    fingerprint: str
    source_run_id: str | None = None
    source_entry_id: str | None = None
    superseded_by: str | None = None
    promoted_from: str | None = None
    promoted_by: str | None = None
    promotion_reason: str | None = None

    @property
    def always_holds(self) -> bool:
        """Whether it helps with every question: it says how to work, or belongs to the run's task or goal."""
        return self.type in _STANDING or self.read_scope.startswith(_OF_WORK)

    @property
    def read_scope(self) -> str:
        """The scope it is read in: an imported memory without a scope is read as global."""
        return self.scope or str(GLOBAL_SCOPE)


class MemoryText(Input, frozen=True, kw_only=True):
    """What a new memory says."""

    type: MemoryType
    content: Content
    title: Title = ""
    tags: Tags = ()


class NewMemory(MemoryText, frozen=True, kw_only=True):
    """A memory to be kept."""

    confidence: float = STATED
    expires_at: int | None = None
    # The memory that this one replaces.
    supersedes: str | None = None
    source_run_id: str | None = None
    source_entry_id: str | None = None


class MemoryChange(Input, frozen=True, kw_only=True):
    """Changes of a memory; fields left out stay as they are, and `expiresAt: null` keeps it for good."""

    type: MemoryType | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    title: Title | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    expires_at: Moment | UnsetType | None = UNSET


class MemorySource(Shape, frozen=True, kw_only=True):
    """The source of a memory."""

    run_id: str | None
    entry_id: str | None


class MemoryShape(_MemoryFields[str], frozen=True, kw_only=True):
    """A memory as every surface shows it."""

    scope: str
    source: MemorySource


def memory_shape(memory: Memory) -> MemoryShape:
    """Return a memory as surfaces show it."""
    source = MemorySource(run_id=memory.source_run_id, entry_id=memory.source_entry_id)
    return MemoryShape.of(memory, scope=memory.read_scope, source=source)


class PromotedMemory(Shape, frozen=True, kw_only=True):
    """The memory that every session knows, and the one it was made from."""

    item: MemoryShape
    promoted_from: str


class Reader(Struct, frozen=True, kw_only=True):
    """Who reads and writes memory: the chain of a run's scopes, narrowest first, and its agent."""

    agent_id: str
    chain: tuple[Scope, ...]

    def places(self) -> list[tuple[str, str]]:
        """Return the (scope, agent) pairs that may be read, narrowest first."""
        return [place_of(scope, self.agent_id) for scope in self.chain]

    def scope_for(self, kind: MemoryType) -> Scope:
        """Return the scope for a type of memory: its own, else the next wider one that the run has."""
        fitting = _WIDER[_WIDER.index(_NARROWEST[kind]) :]
        return next(scope for scope in self.chain if scope.kind in fitting)

    def named(self, kind: str) -> Scope:
        """Return the scope of that kind, if the run has one."""
        writable = {scope.kind: scope for scope in self.chain if scope.kind in _WIDER}
        if kind not in writable:
            raise Refusal.of_value("scope", kind, writable, code=Code.INVALID_SCOPE)
        return writable[kind]


def place_of(scope: Scope, agent_id: str) -> tuple[str, str]:
    """Return the (scope, agent) under which memories are stored; only sessions and goals belong to an agent."""
    return str(scope), agent_id if scope.kind in ("session", "goal") else ""


def fingerprint(kind: str, content: str) -> str:
    """Return a key that two memories of a kind share if they say the same."""
    return sha256(f"{kind}|{as_said(content)}".encode()).hexdigest()[:24]


def as_said(content: str) -> str:
    """Return the content in a comparable form, without case, line breaks and the final full stop."""
    return " ".join(content.lower().split()).rstrip(".!")


def searched_text(memory: Memory) -> str:
    """Return the text whose words find a memory."""
    return f"{memory.title} {' '.join(memory.tags)} {memory.content}"


def words_of(text: str, limit: int = limits.MEMORY_WORDS_MAX) -> tuple[str, ...]:
    """Return the indexed words of a text, without endings, each once, in order, at most `limit`."""
    found = dict.fromkeys(form for match in _WORD.finditer(text.lower()) for form in _forms(match[0]))
    return tuple(islice(found, limit))


def query_words(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a question to look up, each with its forms: the longest, which say the most."""
    said = dict.fromkeys(_WORD.findall(text.lower()))
    asked = sorted((word for word in said if word not in STOP_WORDS), key=len, reverse=True)
    # Memories that were written before endings were removed are found by the whole word.
    return {word: tuple(dict.fromkeys((*_forms(word), word[:limits.MEMORY_WORD_CHARS_MAX])))
            for word in asked[:limits.MEMORY_QUERY_WORDS_MAX]}  # fmt: skip


def _forms(word: str) -> Iterator[str]:
    return (form[: limits.MEMORY_WORD_CHARS_MAX] for form in stems_of(word))


def check(said: NewMemory | MemoryChange) -> None:
    """Refuse values that are missing, too long or out of range; unset fields are not checked."""
    if isinstance(said.content, str) and not said.content.strip():
        raise invalid("content", "A memory needs some text.")
    limited = {"content": limits.MEMORY_CONTENT_CHARS_MAX, "title": limits.MEMORY_TITLE_CHARS_MAX}
    for field, most in limited.items():
        if isinstance(text := getattr(said, field), str) and len(text) > most:
            raise Refusal(Code.TOO_LONG, f"{field} has at most {most} characters.", field=field)
    if not isinstance(said.tags, UnsetType):
        if len(said.tags) > limits.MEMORY_TAGS_MAX:
            raise Refusal(Code.LIMIT_REACHED, f"A memory has at most {limits.MEMORY_TAGS_MAX} tags.", field="tags")
        if any(len(tag) > limits.MEMORY_TAG_CHARS_MAX for tag in said.tags):
            raise Refusal(Code.TOO_LONG, f"A tag has at most {limits.MEMORY_TAG_CHARS_MAX} characters.", field="tags")
    if isinstance(said, NewMemory) and not 0 <= said.confidence <= 1:
        raise invalid("confidence", "confidence must be between 0 and 1.")

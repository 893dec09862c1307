"""Memory: the kept facts of sessions, tasks and the whole account. The rooms below decide whose a caller may read."""

from typing import Annotated

from msgspec import Meta, structs

from carrel.delivery import MemoryRead, reads_of_memory
from carrel.kernel import PEOPLE, Access, Input, Shape
from carrel.kernel.fields import Cursor, Id, Moment, Slug, checked
from carrel.kernel.limits import MEMORY_FOUND_DEFAULT, MEMORY_FOUND_MAX, MEMORY_QUERY_CHARS_MAX, MEMORY_REASON_CHARS_MAX
from carrel.memory import (
    OWN_SCOPE,
    FoundShape,
    Memory,
    MemoryChange,
    MemoryShape,
    MemoryText,
    MemoryType,
    NewMemory,
    PromotedMemory,
    Reader,
    change,
    forget,
    found_shape,
    keep,
    memories_listed,
    memory_shape,
    promote,
    recall,
)
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import clamp, paged_by_id
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.session_ids import SessionId, required
from carrel.surfaces.http.errors import field_named
from carrel.tools import reader_named, reader_within, visible_memory

# The room below checks these and words the refusals; here they are only described.
ScopeText = Annotated[str, checked(pattern=f"^(?:global|{OWN_SCOPE})$")]
OwnScope = Annotated[str, checked(pattern=f"^{OWN_SCOPE}$")]
Words = Annotated[str, Meta(min_length=1, max_length=MEMORY_QUERY_CHARS_MAX)]


class ChainQuery(Input, frozen=True, kw_only=True):
    """Whose memory: that of a session, and of a goal and a task that it works on."""

    session_id: SessionId | None = None
    goal_id: Id | None = None
    task_id: Id | None = None


class MemoryQuery(ChainQuery, frozen=True, kw_only=True):
    """Which memories: those of one scope, or of a chain; `agentId` says whose session a scope means."""

    scope: ScopeText | None = None
    agent_id: Slug | None = None
    type: MemoryType | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class SearchQuery(ChainQuery, frozen=True, kw_only=True):
    """What to look for, and in whose memory."""

    q: Words
    limit: int | None = None


class MemoryBody(MemoryText, frozen=True, kw_only=True):
    """A memory to keep. `agentId` says whose session the scope means, `supersedes` which memory this one replaces."""

    scope: OwnScope
    agent_id: Slug | None = None
    expires_at: Moment | None = None
    supersedes: Id | None = None


class PromoteBody(Input, frozen=True, kw_only=True):
    """Why every session should know a memory."""

    reason: Annotated[str, checked(minLength=1, maxLength=MEMORY_REASON_CHARS_MAX)]


class MemoryList(Shape, frozen=True, kw_only=True):
    """The scopes that were read, narrowest first, whose they are, and a page of their memories, newest first."""

    chain: list[str]
    agent_id: str | None
    items: list[MemoryShape]
    next_cursor: str | None


class FoundMemories(Shape, frozen=True, kw_only=True):
    """The scopes that were searched, and what was found there, best first."""

    chain: list[str]
    items: list[FoundShape]


@endpoint("GET", "/api/memory", tool="memory_search")
def list_memory(call: Call[None, MemoryQuery], tx: LongTx, access: Access) -> MemoryList:
    """List the memories of a scope, or of a session with its goal and task, newest first."""
    query, scope = call.query, call.query.scope
    reader = _chain(tx, access, query) if scope is None else reader_within(tx, access, scope, query.agent_id)

    def read(before: str | None, most: int) -> list[Memory]:
        return memories_listed(tx, access, reader.scope_keys(), kind=query.type, before=before, limit=most)

    return MemoryList.of(
        paged_by_id(query, read).shown(lambda memories: map(memory_shape, memories)),
        chain=[str(scope) for scope in reader.chain],
        agent_id=reader.agent_id or None,
    )


@endpoint("GET", "/api/memory/search", tool="memory_search")
def search_memory(call: Call[None, SearchQuery], tx: LongTx, access: Access) -> FoundMemories:
    """Find the memories of a session, its goal and its task by words, best first."""
    query, limit = call.query, clamp(call.query.limit, MEMORY_FOUND_DEFAULT, MEMORY_FOUND_MAX)
    reader = _chain(tx, access, query)
    found = recall(tx, access, reader, query.q, items_max=limit, only_matching=True)
    best = [found_shape(memory) for memory in sorted(found, key=lambda memory: -memory.score)]
    return FoundMemories(chain=[str(scope) for scope in reader.chain], items=best)


@endpoint("POST", "/api/memory", "item", who=PEOPLE, creates=True, tool="memory_add")
def keep_memory(call: Call[MemoryBody, NoQuery], tx: Tx, access: Access) -> MemoryShape:
    """Keep a memory in a session, a goal or a task; `global` is reached by promoting one."""
    new = structs.asdict(call.body)
    reader = reader_within(tx, access, new.pop("scope"), new.pop("agent_id"))
    return memory_shape(keep(tx, access, reader.chain[0], reader.agent_id, NewMemory(**new)))


@endpoint("PATCH", "/api/memory/{id}", "item", who=PEOPLE, tool="memory_update")
def patch_memory(call: Call[MemoryChange, NoQuery], tx: Tx, access: Access) -> MemoryShape:
    """Change a memory that is not global."""
    return memory_shape(change(tx, access, visible_memory(tx, access, call.path("id"), hold=True), call.body))


@endpoint("DELETE", "/api/memory/{id}", who=PEOPLE, tool="memory_forget")
def forget_memory(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Forget a memory, global ones included."""
    forget(tx, access, visible_memory(tx, access, call.path("id"), hold=True))


@endpoint("POST", "/api/memory/{id}/promote", who=PEOPLE, creates=True, tool="memory_promote")
def promote_memory(call: Call[PromoteBody, NoQuery], tx: Tx, access: Access) -> PromotedMemory:
    """Let every session of the account know a memory."""
    memory = visible_memory(tx, access, call.path("id"))
    promoted = promote(tx, access, memory, call.body.reason)
    return PromotedMemory(item=memory_shape(promoted), promoted_from=memory.id)


@endpoint("GET", "/api/memory/{id}/reads", "reads", tool="memory_read")
def list_reads(call: Call[None, NoQuery], tx: Tx, access: Access) -> list[MemoryRead]:
    """List the newest runs that were shown a memory, of sessions that the caller may see."""
    return reads_of_memory(tx, access, visible_memory(tx, access, call.path("id")).id)


def _chain(tx: Tx, access: Access, query: ChainQuery) -> Reader:
    session = required(query.session_id)
    with field_named("sessionId", below="sessionKey"):
        return reader_named(tx, access, session, goal_id=query.goal_id, task_id=query.task_id)

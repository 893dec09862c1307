"""The tools for memory. They act only in the chain of the caller's own session and task, even on ids of others."""

from typing import Annotated, Literal

from msgspec import Meta, convert, structs, to_builtins

from carrel.kernel import clip, limits
from carrel.kernel.fields import Id
from carrel.memory import (
    FoundShape,
    Memory,
    MemoryChange,
    MemoryShape,
    MemoryType,
    NewMemory,
    PromotedMemory,
    change,
    forget,
    found_shape,
    in_chain,
    keep,
    memory_shape,
    promote,
    recall,
    require_own,
)
from carrel.storage import Tx
from carrel.tools.memory.readers import memory_reader
from carrel.tools.model import Caller, Params, Result, Shown, Tool, answer
from carrel.tools.tasks.shapes import first_that_fit

MemoryId = Annotated[Id, Meta(description="id of a fact")]
Content = Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_CONTENT_CHARS_MAX, description="the fact")]
Title = Annotated[str, Meta(max_length=limits.MEMORY_TITLE_CHARS_MAX, description="a short title")]
Tags = Annotated[tuple[str, ...], Meta(max_length=limits.MEMORY_TAGS_MAX, description="words to find it by")]
Kind = Annotated[MemoryType, Meta(description="what kind of fact")]


class SearchMemory(Params, frozen=True, kw_only=True):
    """What to look for, and how many memories to return; a number out of range is clamped."""

    query: Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_QUERY_CHARS_MAX, description="words to look for")]
    limit: Annotated[int, Meta(description="how many")] = limits.MEMORY_FOUND_DEFAULT


class OneMemory(Params, frozen=True, kw_only=True):
    """Which memory."""

    id: MemoryId


class AddMemory(Params, frozen=True, kw_only=True):
    """What to keep. Its type decides where, unless `scope` does; `supersedes` names the memory that it replaces."""

    content: Content
    type: Kind
    title: Title = ""
    tags: Tags = ()
    scope: Annotated[Literal["task", "goal", "session"], Meta(description="by its type unless given")] | None = None
    supersedes: Annotated[MemoryId, Meta(description="id of the fact it replaces")] | None = None


class UpdateMemory(OneMemory, frozen=True, kw_only=True):
    """Which memory, and what to change; what is left out stays."""

    content: Content | None = None
    type: Kind | None = None
    title: Title | None = None
    tags: Tags | None = None


class PromoteMemory(OneMemory, frozen=True, kw_only=True):
    """Which memory every session should know, and why."""

    reason: Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_REASON_CHARS_MAX, description="why")]


MemoryResult = answer("MemoryResult", "A memory.", item=MemoryShape)
FoundResult = answer(
    "FoundResult",
    "The scopes that were searched, narrowest first, and what was found there; long contents are clipped.",
    chain=list[str], items=list[FoundShape],
)  # fmt: skip
ForgottenResult = answer("ForgottenResult", "The id of a memory that is gone.", forgotten=str)


def _search(tx: Tx, caller: Caller, params: SearchMemory) -> Result:
    reader = memory_reader(tx, caller)
    limit = max(1, min(params.limit, limits.MEMORY_FOUND_MAX))
    found = recall(tx, caller.access, reader, params.query, items_max=limit, only_matching=True)
    best = sorted(found, key=lambda one: -one.score)
    items = [structs.replace(item, content=clip(item.content, limits.MEMORY_CONTENT_SHOWN_CHARS_MAX))
             for item in map(found_shape, best)]  # fmt: skip
    shown = first_that_fit([to_builtins(item) for item in items], limits.TOOL_RESULT_BYTES_MAX // 2)
    return Result(value={"chain": [str(scope) for scope in reader.chain], "items": shown})


def _read(tx: Tx, caller: Caller, params: OneMemory) -> Result:
    return _result_of(in_chain(tx, caller.access, memory_reader(tx, caller), params.id))


def _add(tx: Tx, caller: Caller, params: AddMemory) -> Result:
    reader, run = memory_reader(tx, caller), caller.run
    scope = reader.scope_for(params.type) if params.scope is None else reader.named(params.scope)
    new = convert(params, NewMemory, from_attributes=True)
    if run is not None:
        new = structs.replace(new, source_run_id=run.id, source_entry_id=run.message_id)
    return _result_of(keep(tx, caller.access, scope, reader.agent_id, new))


def _update(tx: Tx, caller: Caller, params: UpdateMemory) -> Result:
    memory = in_chain(tx, caller.access, memory_reader(tx, caller), params.id, hold=True)
    wanted = {name: value for name, value in structs.asdict(params).items() if name != "id" and value is not None}
    return _result_of(change(tx, caller.access, memory, MemoryChange(**wanted)))


def _forget(tx: Tx, caller: Caller, params: OneMemory) -> Result:
    memory = in_chain(tx, caller.access, memory_reader(tx, caller), params.id, hold=True)
    require_own(memory)
    forget(tx, caller.access, memory)
    return Result(value={"forgotten": memory.id})


def _promote(tx: Tx, caller: Caller, params: PromoteMemory) -> Result:
    memory = in_chain(tx, caller.access, memory_reader(tx, caller), params.id)
    promoted = memory_shape(promote(tx, caller.access, memory, params.reason))
    return Result(value={"item": to_builtins(promoted), "promotedFrom": memory.id})


def _result_of(memory: Memory) -> Result:
    return Result(value={"item": to_builtins(memory_shape(memory))})


MEMORY_TOOLS = (
    Tool("memory_search", "search its kept facts",
         "Find kept facts of this session, its task and goal, and the whole account by words, best first.",
         "read", SearchMemory, _search, FoundResult),
    Tool("memory_read", "read a kept fact",
         "Read one kept fact in full.",
         "read", OneMemory, _read, MemoryResult),
    Tool("memory_add", "keep a fact for later",
         "Keep a fact for later turns. Its type decides whether the task, its goal or the session keeps it.",
         "write", AddMemory, _add, MemoryResult, shown=Shown(without=("title", "scope"))),
    Tool("memory_update", "change a kept fact",
         "Change a kept fact of this session, its task or its goal.",
         "write", UpdateMemory, _update, MemoryResult),
    Tool("memory_forget", "forget a kept fact",
         "Forget a kept fact of this session, its task or its goal.",
         "write", OneMemory, _forget, ForgottenResult),
    Tool("memory_promote", "let every session know a kept fact",
         "Let every session of the account know a kept fact, with a reason.",
         "write", PromoteMemory, _promote, PromotedMemory, right="promote"),
)  # fmt: skip

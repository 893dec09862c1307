"""The tools of the board: search it, read one topic, task or entry, write a note, and change a task."""

from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from carrel.board import (
    BoardQuery,
    LogShape,
    NewLog,
    SearchShape,
    board_search,
    found_entry,
    log_shapes,
    place_of_search,
    record,
    search_shape,
)
from carrel.context import ContextLimits, ContextRequest, ContextShape, context_shape, key_named, mode_named
from carrel.journal import clean
from carrel.kernel import Access, Refusal, SessionKey, invalid, parse_iso
from carrel.kernel.limits import (
    CLIENT_ID_CHARS_MAX,
    CONTEXT_LINES_MAX,
    CONTEXT_QUERY_CHARS_MAX,
    CONTEXT_TEXT_CHARS_MAX,
    NOTE_CHARS_MAX,
    SEARCH_FOUND_MAX,
    SEARCH_QUERY_CHARS_MAX,
    SEARCH_SHOWN_TO_TOOLS_CHARS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
    TOOL_MESSAGE_CHARS_MAX,
    TOOL_RESULT_BYTES_MAX,
)
from carrel.memory import Reader
from carrel.storage import Database, Tx
from carrel.tools.memory.readers import context_reader
from carrel.tools.model import Caller, Params, Preparation, Result, Tool
from carrel.tools.tasks.changes import MomentOrNone, Priority
from carrel.tools.tasks.shapes import TaskResult, first_that_fit, result_of
from carrel.topics import TopicShape, readable_topic, topic_shape
from carrel.work import TaskChange, change_task, readable_task, task_shape

Id = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)]
Session = Annotated[str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX)]
_KINDS = ("topics", "tasks", "logs", "notes")


class SearchBoard(Params, frozen=True, kw_only=True):
    """What to look for, and how much of each kind to return; numbers out of range are clamped."""

    q: Annotated[str, Meta(min_length=1, max_length=SEARCH_QUERY_CHARS_MAX)]
    session_key: Annotated[Session, Meta(description="look from this session; your own by default")] | None = None
    topic_id: Id | None = None
    include_pending: bool = True
    limit_topics: int = 8
    limit_tasks: int = 8
    limit_logs: int = 12
    limit_notes: int = 8


class ContextOf(Params, frozen=True, kw_only=True):
    """The context of which session, for which question, and how much; numbers out of range are clamped."""

    q: str = ""
    session_key: Annotated[Session, Meta(description="your own by default")] | None = None
    mode: Annotated[str, Meta(description="auto, cheap, full or patient")] = "auto"
    max_chars: int = 6_000
    working_set_limit: int = 8
    timeline_limit: int = 8


class OneOf(Params, frozen=True, kw_only=True):
    """Which one."""

    id: Id


class OneLog(OneOf, frozen=True, kw_only=True):
    """Which entry, and whether with the text that it was made from."""

    include_raw: bool = False


class CreateNote(Params, frozen=True, kw_only=True):
    """The entry that the note is about, and what it says; it belongs where the entry does, unless you say where."""

    related_log_id: Id
    text: Annotated[str, Meta(min_length=1, max_length=NOTE_CHARS_MAX)]
    topic_id: Id | None = None
    task_id: Id | None = None


class UpdateBoardTask(Params, frozen=True, kw_only=True):
    """Which task, and what to change; what is left out stays, and an empty time is none."""

    id: Id
    status: Annotated[str, Meta(min_length=1, max_length=40)] | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due_date: MomentOrNone | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    snoozed_until: MomentOrNone | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET


class TopicResult(Struct, frozen=True, kw_only=True):
    """A topic."""

    topic: TopicShape


class LogResult(Struct, frozen=True, kw_only=True):
    """An entry."""

    log: LogShape


class _Searched(Struct, frozen=True):
    """What a search has come to before its call is recorded."""

    value: dict[str, Any] = {}
    refusal: Refusal | None = None


def _access(caller: Caller) -> Access:
    """The access of a caller, from its session and in its agent's spaces."""
    own = caller.own_access
    return own if own.is_person else structs.replace(own, space_ids=own.narrowed(caller.agent.profile.space_ids))


async def _prepare_search(db: Database, caller: Caller, params: SearchBoard) -> Preparation:
    try:
        return Preparation(params=_Searched(await _searched(db, caller, params)))
    except Refusal as refusal:
        return Preparation(params=_Searched(refusal=refusal))


async def _searched(db: Database, caller: Caller, params: SearchBoard) -> dict[str, Any]:
    access, services = _access(caller), caller.services
    assert services.search is not None, "a server that offers tools can search"
    from_session = params.session_key or str(caller.key)
    session, scope = await db.read(lambda tx: place_of_search(tx, access, session_key=from_session))
    limits = (params.limit_topics, params.limit_tasks, params.limit_logs, params.limit_notes)
    most = [max(1, min(asked, cap)) for asked, cap in zip(limits, SEARCH_FOUND_MAX.values(), strict=True)]
    query = BoardQuery(
        text=params.q, scope=scope, session_key=session, topic_id=params.topic_id, with_pending=params.include_pending,
        topics_max=most[0], tasks_max=most[1], logs_max=most[2], notes_max=most[3],
    )  # fmt: skip
    found = await board_search(db, services.search, access, query)
    shape = search_shape(params.q, scope, found, chars_max=SEARCH_SHOWN_TO_TOOLS_CHARS_MAX)
    value: dict[str, Any] = msgspec.to_builtins(shape)
    return value | {kind: first_that_fit(value[kind], TOOL_RESULT_BYTES_MAX // 5) for kind in _KINDS}


def _search(_tx: Tx, _caller: Caller, searched: _Searched) -> Result:
    if searched.refusal is not None:
        raise searched.refusal
    return Result(value=searched.value)


async def _prepare_context(db: Database, caller: Caller, params: ContextOf) -> Preparation:
    try:
        return Preparation(params=_Searched(await _context(db, caller, params)))
    except Refusal as refusal:
        return Preparation(params=_Searched(refusal=refusal))


async def _context(db: Database, caller: Caller, params: ContextOf) -> dict[str, Any]:
    access, services = _access(caller), caller.services
    assert services.contexts is not None, "a server that offers tools can build contexts"
    named = params.session_key or str(caller.key)
    question = clean(params.q)[:CONTEXT_QUERY_CHARS_MAX].strip()

    def session(tx: Tx) -> tuple[SessionKey | None, Reader | None]:
        key = key_named(tx, access, named)
        return key, None if key is None else context_reader(tx, access, key)

    key, reader = await db.read(session)
    request = ContextRequest(
        reference=named,
        key=key,
        question=question,
        mode=mode_named(params.mode),
        limits=ContextLimits(
            max_chars=max(1, min(params.max_chars, CONTEXT_TEXT_CHARS_MAX)),
            working_set=max(0, min(params.working_set_limit, CONTEXT_LINES_MAX)),
            timeline=max(0, min(params.timeline_limit, CONTEXT_LINES_MAX)),
        ),
        reader=reader,
    )
    built = await services.contexts.build(access, request)
    shape = context_shape(built, session_key=named, question=question, with_data=False)
    value: dict[str, Any] = msgspec.to_builtins(shape)
    return value


def _get_topic(tx: Tx, caller: Caller, params: OneOf) -> Result:
    return result_of(TopicResult(topic=topic_shape(readable_topic(tx, _access(caller), params.id))))


def _get_task(tx: Tx, caller: Caller, params: OneOf) -> Result:
    task, _ = readable_task(tx, caller.access, params.id)
    return result_of(TaskResult(task=task_shape(tx, caller.access, task)))


def _get_log(tx: Tx, caller: Caller, params: OneLog) -> Result:
    entry = found_entry(tx, _access(caller), params.id)
    (shape,) = log_shapes(tx, caller.access, [entry], raw=params.include_raw)
    value: dict[str, Any] = msgspec.to_builtins(LogResult(log=shape))
    for field in ("content", "raw"):
        if isinstance(text := value["log"].get(field), str):
            value["log"][field] = text[:TOOL_MESSAGE_CHARS_MAX]
    return Result(value=value)


def _create_note(tx: Tx, caller: Caller, params: CreateNote) -> Result:
    access = _access(caller)
    related = found_entry(tx, access, params.related_log_id)
    if params.topic_id is not None:
        readable_topic(tx, access, params.topic_id)
    if params.task_id is not None:
        readable_task(tx, caller.access, params.task_id)
    is_tied = params.topic_id is None and params.task_id is None
    note = NewLog(
        type="note",
        content=params.text,
        related_id=related.id,
        topic_id=related.topic_id if is_tied else params.topic_id,
        task_id=related.task_id if is_tied else params.task_id,
        space_id=related.space_id,
        agent_id=None if access.is_person else caller.agent.id,
    )
    # What it is about was looked up above, by the rule of search.
    written, _ = record(tx, access if access.is_person else caller.account_access, note)
    return Result(value=msgspec.to_builtins(LogResult(log=log_shapes(tx, caller.access, [written])[0])))


def _update_task(tx: Tx, caller: Caller, params: UpdateBoardTask) -> Result:
    given = {name: value for name, value in structs.asdict(params).items() if name != "id" and value is not UNSET}
    if not given:
        raise invalid("id", "Say what to change: status, priority, dueDate, pinned, snoozedUntil or tags.")
    for name, field in (("due_date", "dueDate"), ("snoozed_until", "snoozedUntil")):
        if name in given:
            given[name] = _moment(field, given[name])
    task = change_task(tx, caller.access, params.id, TaskChange(**given), caller.services.rules).task
    return result_of(TaskResult(task=task_shape(tx, caller.access, task)))


def _moment(field: str, text: str) -> int | None:
    try:
        return parse_iso(text) if text else None
    except (ValueError, OverflowError) as error:
        raise invalid(field, f"{field} must be an ISO 8601 time with its offset ({error}).") from error


def _lock_task(tx: Tx, caller: Caller, params: UpdateBoardTask) -> None:
    """Lock the task that a call changes; one that the caller may not read is refused where the call is recorded."""
    with suppress(Refusal):
        readable_task(tx, caller.access, params.id, hold=True)


BOARD_TOOLS = (
    Tool(
        name="clawboard_search",
        does="search the board",
        description="Search topics, tasks, entries and notes of the board by words and by meaning, best first.",
        params=SearchBoard,
        effect="read",
        act=_search,
        result_type=SearchShape,
        prepare=_prepare_search,
    ),
    Tool(
        name="clawboard_context",
        does="read the context of a session",
        description="Get the context of a session: its place on the board, the work there, and what fits a question.",
        params=ContextOf,
        effect="read",
        act=_search,
        result_type=ContextShape,
        prepare=_prepare_context,
    ),
    Tool(
        name="clawboard_get_topic",
        does="read a topic of the board",
        description="Get one topic of the board.",
        params=OneOf,
        effect="read",
        act=_get_topic,
        result_type=TopicResult,
    ),
    Tool(
        name="clawboard_get_task",
        does="read a task of the board",
        description="Get one task of the board.",
        params=OneOf,
        effect="read",
        act=_get_task,
        result_type=TaskResult,
    ),
    Tool(
        name="clawboard_get_log",
        does="read an entry of the board",
        description="Get one entry of the board: something that was said or done.",
        params=OneLog,
        effect="read",
        act=_get_log,
        result_type=LogResult,
    ),
    Tool(
        name="clawboard_create_note",
        does="write a note on the board",
        description="Write a note about an entry of the board. Notes are found before ordinary entries.",
        params=CreateNote,
        effect="write",
        act=_create_note,
        result_type=LogResult,
    ),
    Tool(
        name="clawboard_update_task",
        does="change a task of the board",
        description="Change a task of the board: status, priority, due date, pinned, snoozed until, tags.",
        params=UpdateBoardTask,
        effect="write",
        act=_update_task,
        result_type=TaskResult,
        lock=_lock_task,
        right="change",
    ),
)

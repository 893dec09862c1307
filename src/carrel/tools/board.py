"""The tools of the board: search it, read one topic, task or entry, write a note, and change a task."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from carrel import board
from carrel.context import ContextLimits, ContextRequest, ContextShape, context_shape, depth_named, key_named
from carrel.journal import clean
from carrel.kernel import SessionKey, invalid, limits
from carrel.kernel.fields import AnySession, Id
from carrel.memory import Reader
from carrel.storage import Database, Tx
from carrel.tools.memory.readers import context_reader
from carrel.tools.model import Caller, Params, Result, Shown, Tool, answer, give_read, read_before
from carrel.tools.tasks.changes import MomentOrNone, Priority, Tags, level, lock_task, moment
from carrel.tools.tasks.shapes import TaskResult, first_that_fit, result_of, task_result
from carrel.tools.tool_rules import require_part
from carrel.topics import TopicShape, readable_topic
from carrel.work import TaskChange, change_task, readable_task

_KINDS = ("topics", "tasks", "logs", "notes")
# Only programs that display results need these; their defaults suit a model.
_SEARCH_TUNING = ("sessionKey", "includePending", "limitTopics", "limitTasks", "limitLogs", "limitNotes")


class SearchBoard(Params, frozen=True, kw_only=True):
    """What to look for, and how much of each kind to return; numbers out of range are clamped."""

    q: Annotated[str, Meta(min_length=1, max_length=limits.SEARCH_QUERY_CHARS_MAX, description="what to look for")]
    session_key: Annotated[AnySession, Meta(description="look from this session; your own by default")] | None = None
    topic_id: Annotated[Id, Meta(description="only within this topic")] | None = None
    include_pending: Annotated[bool, Meta(description="also what is not sorted yet")] = True
    limit_topics: Annotated[int, Meta(description="how many topics")] = 8
    limit_tasks: Annotated[int, Meta(description="how many tasks")] = 8
    limit_logs: Annotated[int, Meta(description="how many entries")] = 12
    limit_notes: Annotated[int, Meta(description="how many notes")] = 8


class ContextOf(Params, frozen=True, kw_only=True):
    """The context of which session, for which question, and how much; numbers out of range are clamped."""

    q: Annotated[str, Meta(description="the question it should fit")] = ""
    session_key: Annotated[AnySession, Meta(description="your own by default")] | None = None
    mode: Annotated[str, Meta(description="auto, cheap, full or patient")] = "auto"
    max_chars: Annotated[int, Meta(description="how many characters")] = 6_000
    working_set_limit: Annotated[int, Meta(description="how many topics and tasks")] = 8
    timeline_limit: Annotated[int, Meta(description="how many messages")] = 8


class OneOf(Params, frozen=True, kw_only=True):
    """Which one."""

    id: Annotated[Id, Meta(description="its id")]


class BoardTask(OneOf, frozen=True, kw_only=True):
    """Which task."""

    TASK: ClassVar[str] = "id"


class OneLog(OneOf, frozen=True, kw_only=True):
    """Which entry, and whether with the text that it was made from."""

    include_raw: Annotated[bool, Meta(description="also the original text")] = False


class CreateNote(Params, frozen=True, kw_only=True):
    """The entry that the note is about, and what it says; it belongs where the entry does, unless you say where."""

    related_log_id: Annotated[Id, Meta(description="id of the entry it is about")]
    text: Annotated[str, Meta(min_length=1, max_length=limits.NOTE_CHARS_MAX, description="what it says")]
    topic_id: Annotated[Id, Meta(description="put it in this topic")] | None = None
    task_id: Annotated[Id, Meta(description="put it on this task")] | None = None


class UpdateBoardTask(BoardTask, frozen=True, kw_only=True):
    """Which task, and what to change; what is left out stays, and an empty time is none."""

    status: Annotated[str, Meta(min_length=1, max_length=40, description="its new status")] | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due_date: MomentOrNone | UnsetType = UNSET
    pinned: Annotated[bool, Meta(description="keep it at the top")] | UnsetType = UNSET
    snoozed_until: MomentOrNone | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET


TopicResult = answer("TopicResult", "A topic.", topic=TopicShape)
LogResult = answer("LogResult", "An entry.", log=board.LogShape)


async def _search(db: Database, caller: Caller, params: SearchBoard) -> Result:
    access, services = caller.own_access, caller.services
    assert services.search is not None, "a server that offers tools can search"
    from_session = params.session_key or str(caller.key)
    session, scope = await db.read(lambda tx: board.scope_of_search(tx, access, session_key=from_session))
    asked = (params.limit_topics, params.limit_tasks, params.limit_logs, params.limit_notes)
    most = [max(1, min(wanted, cap)) for wanted, cap in zip(asked, limits.SEARCH_FOUND_MAX.values(), strict=True)]
    query = board.BoardQuery(
        text=params.q, scope=scope, session_key=session, topic_id=params.topic_id, with_pending=params.include_pending,
        topics_max=most[0], tasks_max=most[1], logs_max=most[2], notes_max=most[3],
    )  # fmt: skip
    found = await board.board_search(db, services.search, access, query)
    shape = board.search_shape(params.q, scope, found, chars_max=limits.SEARCH_SHOWN_TO_TOOLS_CHARS_MAX)
    value: dict[str, Any] = msgspec.to_builtins(shape)
    fitting = {kind: first_that_fit(value[kind], limits.TOOL_RESULT_BYTES_MAX // 5) for kind in _KINDS}
    return Result(value=value | fitting)


async def _context(db: Database, caller: Caller, params: ContextOf) -> Result:
    access, services = caller.own_access, caller.services
    assert services.contexts is not None, "a server that offers tools can build contexts"
    named = params.session_key or str(caller.key)
    question = clean(params.q)[: limits.CONTEXT_QUERY_CHARS_MAX].strip()

    def session(tx: Tx) -> tuple[SessionKey | None, Reader | None]:
        key = key_named(tx, access, named)
        return key, None if key is None else context_reader(tx, access, key)

    key, reader = await db.read(session)
    request = ContextRequest(
        reference=named,
        key=key,
        question=question,
        mode=depth_named(params.mode),
        limits=ContextLimits(
            max_chars=max(1, min(params.max_chars, limits.CONTEXT_TEXT_CHARS_MAX)),
            working_set=max(0, min(params.working_set_limit, limits.CONTEXT_LINES_MAX)),
            timeline=max(0, min(params.timeline_limit, limits.CONTEXT_LINES_MAX)),
        ),
        reader=reader,
    )
    built = await services.contexts.build(access, request)
    shape = context_shape(built, session_key=named, question=question, with_data=False)
    return Result(value=msgspec.to_builtins(shape))


def _get_topic(tx: Tx, caller: Caller, params: OneOf) -> Result:
    return result_of(TopicResult(topic=TopicShape.of(readable_topic(tx, caller.own_access, params.id))))


def _get_task(tx: Tx, caller: Caller, params: BoardTask) -> Result:
    return task_result(tx, caller.access, readable_task(tx, caller.access, params.id)[0])


def _get_log(tx: Tx, caller: Caller, params: OneLog) -> Result:
    entry = board.found_entry(tx, caller.own_access, params.id)
    (shape,) = board.log_shapes(tx, caller.access, [entry], raw=params.include_raw)
    log: dict[str, Any] = msgspec.to_builtins(shape)
    texts = {field: log[field] for field in ("content", "raw") if isinstance(log.get(field), str)}
    cut = {field: text[: limits.TOOL_MESSAGE_CHARS_MAX] for field, text in texts.items()}
    return Result(value={"log": log | cut})


def _create_note(tx: Tx, caller: Caller, params: CreateNote) -> Result:
    access = caller.own_access
    related = board.found_entry(tx, access, params.related_log_id)
    if params.topic_id is not None:
        readable_topic(tx, access, params.topic_id)
    if params.task_id is not None:
        readable_task(tx, caller.access, params.task_id)
    is_tied = params.topic_id is None and params.task_id is None
    note = board.NewLog(
        type="note",
        content=params.text,
        related_id=related.id,
        topic_id=related.topic_id if is_tied else params.topic_id,
        task_id=related.task_id if is_tied else params.task_id,
        space_id=related.space_id,
        agent_id=None if access.is_person else caller.agent.id,
    )
    # Search's own rule has already found the related entry above.
    written, _ = board.record(tx, access if access.is_person else caller.account_access, note)
    return Result(value=msgspec.to_builtins(LogResult(log=board.log_shapes(tx, caller.access, [written])[0])))


def _update_task(tx: Tx, caller: Caller, params: UpdateBoardTask) -> Result:
    given = {name: value for name, value in structs.asdict(params).items() if name != "id" and value is not UNSET}
    if not given:
        raise invalid("id", "Say what to change: status, priority, dueDate, pinned, snoozedUntil or tags.")
    if "status" in given:
        require_part(tx, caller.access, "task_status", "clawboard_update_task")
    if "priority" in given:
        given["priority"] = level(given["priority"])
    for name, field in (("due_date", "dueDate"), ("snoozed_until", "snoozedUntil")):
        if name in given:
            given[name] = moment(field, given[name])
    changed = change_task(tx, caller.access, params.id, TaskChange(**given), caller.services.rules)
    return task_result(tx, caller.access, changed.task)


BOARD_TOOLS = (
    Tool("clawboard_search", "search the board",
         "Search topics, tasks, entries and notes of the board by words and by meaning, best first.",
         "read", SearchBoard, give_read, board.SearchShape, prepare=read_before(_search),
         shown=Shown(without=_SEARCH_TUNING)),
    Tool("clawboard_context", "read the context of a session",
         "Get the context of a session: its place on the board, the work there, and what fits a question.",
         "read", ContextOf, give_read, ContextShape, prepare=read_before(_context)),
    Tool("clawboard_get_topic", "read a topic of the board",
         "Get one topic of the board.",
         "read", OneOf, _get_topic, TopicResult),
    Tool("clawboard_get_task", "read a task of the board",
         "Get one task of the board.",
         "read", BoardTask, _get_task, TaskResult),
    Tool("clawboard_get_log", "read an entry of the board",
         "Get one entry of the board: something that was said or done.",
         "read", OneLog, _get_log, LogResult, shown=Shown(without=("includeRaw",))),
    Tool("clawboard_create_note", "write a note on the board",
         "Write a note about an entry of the board. Notes are found before ordinary entries.",
         "write", CreateNote, _create_note, LogResult, shown=Shown(without=("topicId", "taskId"))),
    Tool("clawboard_update_task", "change a task of the board",
         "Change a task of the board: status, priority, due date, pinned, snoozed until, tags.",
         "write", UpdateBoardTask, _update_task, TaskResult, lock=lock_task, right="change"),
)  # fmt: skip

"""Reading tasks: lists, a single task, its thread, its history, its sessions, and why it is not moving."""

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta

from carrel import work
from carrel.kernel import Access, Input, limits
from carrel.kernel.fields import AnySession, Cursor, Name
from carrel.monitoring import Why
from carrel.sessions import LaneFilter, generations_of, lane_rows
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, paged
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, endpoint
from carrel.surfaces.api.scope import Scoped, SpaceNames, scope_of
from carrel.surfaces.api.sessions.shapes import SessionShape, session_shape


class TasksQuery(work.TaskCriteria, frozen=True, kw_only=True):
    """Which tasks to list."""

    session_key: AnySession | None = None
    space_id: Name | None = None
    allowed_space_ids: SpaceNames | None = None
    sort: Literal["newest", "position"] = "newest"
    limit: int | None = None
    cursor: Cursor | None = None


class ThreadQuery(Input, frozen=True, kw_only=True):
    """Which part of a thread: the newest messages, or those before a number."""

    limit: int | None = None
    before: Annotated[int, Meta(ge=0, lt=1 << 62)] | None = None


class TaskHistoryQuery(Input, frozen=True, kw_only=True):
    """How many messages and activities at most."""

    message_limit: int | None = None
    activity_limit: int | None = None


@endpoint("GET", "/api/tasks", "tasks", tool="task_list")
def list_all_tasks(call: Call[None, TasksQuery], tx: Tx, access: Access) -> Page[work.TaskShape]:
    """List the tasks that the caller may read, newest first, or in the order of their columns."""
    query = call.query
    criteria = {name: getattr(query, name) for name in work.TaskCriteria.__struct_fields__}
    scoped = Scoped(session_key=query.session_key, space_id=query.space_id, allowed_space_ids=query.allowed_space_ids)
    wanted = work.TaskFilter(**criteria, spaces=scope_of(tx, access, scoped, infers=True).allowed)
    rows = (limits.TASK_LIST_ROWS_DEFAULT, limits.TASK_LIST_ROWS_MAX)
    if query.sort == "position":
        page = paged(
            query, tuple[float, str],
            lambda after, most: work.list_tasks(tx, access, wanted, by_position=True, after=after, limit=most),
            lambda task: (task.sort_index, task.id), *rows,
        )  # fmt: skip
    else:
        page = paged(
            query, tuple[int, str], lambda before, most: work.list_tasks(tx, access, wanted, before=before, limit=most),
            lambda task: (task.created_at, task.id), *rows,
        )  # fmt: skip
    return page.shown(partial(work.task_shapes, tx, access))


@endpoint("GET", "/api/tasks/{id}", "task", tool="task_get")
def read_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> work.TaskShape:
    """Get a task; `orchestrator-chat` is the account's orchestrator chat."""
    return work.task_shape(tx, access, work.readable_task(tx, access, call.path("id"))[0])


@endpoint("GET", "/api/tasks/{id}/thread", tool="task_thread")
def read_task_thread(call: Call[None, ThreadQuery], tx: Tx, access: Access) -> work.Thread:
    """Get the newest messages of a task's thread, who has read it, and which agents are working on an answer."""
    limit = clamp(call.query.limit, limits.THREAD_ROWS_DEFAULT, limits.THREAD_ROWS_MAX)
    return work.read_thread(tx, access, call.path("id"), limit=limit, before=call.query.before)


@endpoint("GET", "/api/tasks/{id}/history", tool="task_history")
def read_task_history(call: Call[None, TaskHistoryQuery], tx: Tx, access: Access) -> work.TaskHistory:
    """Get a task with its newest messages and everything that was done to it."""
    messages = clamp(call.query.message_limit, limits.HISTORY_MESSAGES_DEFAULT, limits.THREAD_ROWS_MAX)
    activities = clamp(call.query.activity_limit, limits.ACTIVITY_ROWS_DEFAULT, limits.THREAD_ROWS_MAX)
    return work.read_history(tx, access, call.path("id"), message_limit=messages, activity_limit=activities)


@endpoint("GET", "/api/tasks/{id}/sessions", "sessions", tool="sessions_list")
def list_task_sessions(call: Call[None, NoQuery], tx: Tx, access: Access) -> list[SessionShape]:
    """List the sessions in which agents work on a task: every stored generation of those the caller may see."""
    task = work.readable_task(tx, access, call.path("id"))[0]
    filters = [LaneFilter(task_id=task.id, archived=archived) for archived in (False, True)]
    return [
        session_shape(tx, access, row.lane, session)
        for wanted in filters
        for row in lane_rows(tx, access, wanted, before=None, limit=limits.TASK_LIST_ROWS_MAX)
        for session in generations_of(tx, access, row.lane.key)
    ]


@endpoint("GET", "/api/tasks/{id}/why")
def why_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> Why:
    """Explain why a task is not moving, and what can be done about it."""
    return work.explain_task(tx, access, call.path("id"), call.services.concurrency)

"""The tools that look at tasks: the history of one for every agent, lists and threads for the orchestrator."""

from typing import Annotated

from msgspec import Meta

from carrel import work
from carrel.kernel import limits
from carrel.kernel.fields import Id, Name
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Shown, Tool
from carrel.tools.tasks.shapes import (
    ListResult,
    LoadResult,
    SearchResult,
    TaskResult,
    ThreadResult,
    result_of,
    task_result,
)

TaskId = Annotated[Id, Meta(description="id of the task")]


class OneTask(Params, frozen=True, kw_only=True):
    """Which task."""

    task_id: TaskId


class HistoryOfTask(OneTask, frozen=True, kw_only=True):
    """Which task, and how much of its thread and activities; numbers out of range are clamped."""

    message_limit: Annotated[int, Meta(description="how many messages")] = limits.HISTORY_MESSAGES_DEFAULT
    activity_limit: Annotated[int, Meta(description="how many activities")] = limits.ACTIVITY_ROWS_DEFAULT


class LoadTask(OneTask, frozen=True, kw_only=True):
    """Which task, and how much of its thread; a number out of range is clamped."""

    message_limit: Annotated[int, Meta(description="how many messages")] = limits.TASK_LOAD_MESSAGES_DEFAULT


class ListTasks(Params, frozen=True, kw_only=True):
    """Which tasks: of a status, of an agent or a user; a number out of range is clamped."""

    status: Annotated[Name, Meta(description="only of this status")] | None = None
    assignee_slug: Annotated[Name, Meta(description="only of this agent or user")] | None = None
    limit: Annotated[int, Meta(description="how many")] = limits.THREAD_ROWS_DEFAULT


class ThreadOfTask(OneTask, frozen=True, kw_only=True):
    """Which task, and how much of its thread; a number out of range is clamped."""

    limit: Annotated[int, Meta(description="how many messages")] = limits.THREAD_ROWS_DEFAULT


class SearchTasks(Params, frozen=True, kw_only=True):
    """The words to look for, and how many tasks to return; a number out of range is clamped."""

    query: Annotated[Name, Meta(description="words to look for")]
    limit: Annotated[int, Meta(description="how many")] = limits.TASK_SEARCH_RESULTS_DEFAULT


def _clamped(limit: int, most: int = limits.THREAD_ROWS_MAX) -> int:
    return max(1, min(limit, most))


def _history(tx: Tx, caller: Caller, task_id: str, messages: int, activities: int) -> work.TaskHistory:
    shown = {"message_limit": _clamped(messages), "activity_limit": _clamped(activities)}
    return work.read_history(tx, caller.access, task_id, **shown)


def _task_history(tx: Tx, caller: Caller, params: HistoryOfTask) -> Result:
    return result_of(_history(tx, caller, params.task_id, params.message_limit, params.activity_limit))


def _task_load(tx: Tx, caller: Caller, params: LoadTask) -> Result:
    read = _history(tx, caller, params.task_id, params.message_limit, 1)
    return result_of(LoadResult(task=read.task, messages=read.messages))


def _task_list(tx: Tx, caller: Caller, params: ListTasks) -> Result:
    assignee = None
    if params.assignee_slug is not None:
        agents, users = work.directory_of(tx, caller.access).parties((params.assignee_slug,), "assigneeSlug")
        assignee = (*agents, *users)[0]
    wanted = work.TaskFilter(status=params.status, assignee_id=assignee)
    tasks = work.list_tasks(tx, caller.access, wanted, before=None, limit=_clamped(params.limit))
    return result_of(ListResult(tasks=work.task_shapes(tx, caller.access, tasks)))


def _task_get(tx: Tx, caller: Caller, params: OneTask) -> Result:
    return task_result(tx, caller.access, work.readable_task(tx, caller.access, params.task_id)[0])


def _task_thread(tx: Tx, caller: Caller, params: ThreadOfTask) -> Result:
    thread = work.read_thread(tx, caller.access, params.task_id, limit=_clamped(params.limit))
    return result_of(ThreadResult(messages=thread.messages))


def _task_search(tx: Tx, caller: Caller, params: SearchTasks) -> Result:
    limit = _clamped(params.limit, limits.TASK_SEARCH_RESULTS_MAX)
    return result_of(SearchResult(tasks=work.search_tasks(tx, caller.access, params.query, limit=limit)))


READING_TOOLS = (
    Tool("task_history", "read the history of a task",
         "Read a task with its newest messages, oldest first, and its activities, newest first.",
         "read", HistoryOfTask, _task_history, work.TaskHistory, shown=Shown(without=("activityLimit",))),
    Tool("task_load", "read a task and its messages",
         "Read a task with its newest messages, oldest first; task_history also has its activities.",
         "read", LoadTask, _task_load, LoadResult),
    Tool("task_list", "list tasks",
         "List tasks, newest first: all that are not archived, or those of a status or an assignee.",
         "read", ListTasks, _task_list, ListResult, right="oversee",
         shown=Shown(without=("limit",), words=(("status", work.STATUSES),))),
    Tool("task_get", "read a task",
         "Get one task.",
         "read", OneTask, _task_get, TaskResult, right="oversee"),
    Tool("task_thread", "read the thread of a task",
         "Read the thread of a task: its newest messages, oldest first.",
         "read", ThreadOfTask, _task_thread, ThreadResult, right="oversee"),
    Tool("task_search", "search tasks",
         "Find tasks by words in their title, description or reason for being blocked, best first.",
         "read", SearchTasks, _task_search, SearchResult, right="oversee"),
)  # fmt: skip

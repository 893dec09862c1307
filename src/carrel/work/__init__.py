"""Tasks: what people and agents work on together.

Their statuses, assignees, threads and activities, who is notified of what, and what happens to sessions and runs when a
task comes to an end. A task is a row; its thread, history and activities are views of the journal.
"""

from carrel.work.admission import hear, is_reopened_since
from carrel.work.assignments import assign_task
from carrel.work.briefings import TaskBriefing, TaskLine, task_briefing
from carrel.work.directory import Directory
from carrel.work.heartbeats import Heartbeats
from carrel.work.model import (
    NewTask,
    Task,
    TaskChange,
    TaskFilter,
    Words,
    statuses_meant,
)
from carrel.work.moves import archive_task, move_task, reopen_task, stop_task
from carrel.work.notice_store import notices_of
from carrel.work.notices import Notified
from carrel.work.observers import observe_runs
from carrel.work.orchestrator import StatusOverview, open_chat
from carrel.work.permissions import Action, Actor, actor_of, agent_actor, readable_task
from carrel.work.requests import ResponseRequests, request_responses
from carrel.work.run_ends import RunEnds
from carrel.work.search import FoundTask, search_tasks
from carrel.work.shapes import TaskShape, ThreadMessage, task_shape, task_shapes
from carrel.work.tasks import Order, change_task, create_task, find_task, list_tasks, reorder_tasks
from carrel.work.thread import TaskHistory, Thread, mark_read, post_message, read_history, read_thread
from carrel.work.uploads import keep_file, prune_uploads, read_file
from carrel.work.visibility import visible_changes, visible_events
from carrel.work.why import explain_task

__all__ = [
    "Action", "Actor", "Directory", "FoundTask", "Heartbeats", "NewTask", "Notified", "Order", "ResponseRequests",
    "RunEnds", "StatusOverview", "Task", "TaskBriefing", "TaskChange", "TaskFilter", "TaskHistory", "TaskLine",
    "TaskShape", "Thread", "ThreadMessage", "Words", "actor_of", "agent_actor", "archive_task", "assign_task",
    "change_task", "create_task", "explain_task", "find_task", "hear", "is_reopened_since", "keep_file",
    "list_tasks", "mark_read", "move_task", "notices_of", "observe_runs", "open_chat", "post_message",
    "prune_uploads", "read_file", "read_history", "read_thread", "readable_task", "reopen_task", "reorder_tasks",
    "request_responses", "search_tasks", "statuses_meant", "stop_task", "task_briefing", "task_shape",
    "task_shapes", "visible_changes", "visible_events",
]  # fmt: skip

"""Tasks: what people and agents work on together.

Their statuses, assignees, threads and activities, who is notified of what, and what happens to sessions and runs when a
task comes to an end. A task is a row; its thread, history and activities are views of the journal.
"""

from carrel.work.activities import TaskChanged
from carrel.work.admission import admit, is_reopened_since
from carrel.work.assignments import assign_task
from carrel.work.briefings import TaskBriefing, task_briefing, team_of
from carrel.work.changes import visible_changes
from carrel.work.directory import directory_of
from carrel.work.model import (
    AGENT_STATUSES,
    FIRST_STATUSES,
    STATUSES,
    BlockedReason,
    Dependencies,
    Description,
    Names,
    NewTask,
    StatusWord,
    Task,
    TaskChange,
    TaskCriteria,
    TaskFilter,
    Title,
    check_metadata,
    shortest_path,
)
from carrel.work.moves import move_task, reopen_task, stop_task
from carrel.work.orchestrator import open_chat
from carrel.work.permissions import Action, Actor, Rights, actor_of, read_file, readable_task
from carrel.work.plan_tasks import (
    Progress,
    hold_planned,
    move_planned,
    needed_tasks,
    plan_tasks,
    progress_of,
    release_planned,
    start_planned,
)
from carrel.work.requests import ResponseRequests, request_responses
from carrel.work.run_ends import observe_runs, run_end_duty
from carrel.work.shapes import TaskShape, ThreadMessage, task_shape, task_shapes
from carrel.work.stalls import stall_duty
from carrel.work.store import dependencies_of, tasks_by_id, tasks_planned
from carrel.work.tasks import FoundTask, change_task, create_task, list_tasks, reorder_tasks, search_tasks
from carrel.work.thread import (
    Posted,
    TaskHistory,
    Thread,
    mark_read,
    post_message,
    post_report,
    read_history,
    read_thread,
)
from carrel.work.why import explain_task

__all__ = [
    "AGENT_STATUSES", "FIRST_STATUSES", "STATUSES", "Action", "Actor", "BlockedReason", "Dependencies", "Description",
    "FoundTask", "Names", "NewTask", "Posted", "Progress", "ResponseRequests", "Rights", "StatusWord", "Task",
    "TaskBriefing", "TaskChange", "TaskChanged", "TaskCriteria", "TaskFilter", "TaskHistory", "TaskShape", "Thread",
    "ThreadMessage", "Title", "actor_of", "admit", "assign_task", "change_task", "check_metadata", "create_task",
    "dependencies_of", "directory_of", "explain_task", "hold_planned", "is_reopened_since", "list_tasks", "mark_read",
    "move_planned", "move_task", "needed_tasks", "observe_runs", "open_chat", "plan_tasks", "post_message",
    "post_report", "progress_of", "read_file", "read_history", "read_thread", "readable_task", "release_planned",
    "reopen_task", "reorder_tasks", "request_responses", "run_end_duty", "search_tasks", "shortest_path", "stall_duty",
    "start_planned", "stop_task", "task_briefing", "task_shape", "task_shapes", "tasks_by_id", "tasks_planned",
    "team_of", "visible_changes",
]  # fmt: skip

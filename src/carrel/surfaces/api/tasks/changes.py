"""Changing tasks: create, change, move, assign, stop, archive and order them, and write to their threads.

Agents may call all of these; the room of tasks decides what each may do.
"""

from msgspec import UNSET

from carrel.kernel import PEOPLE, Access
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, Out, endpoint, one
from carrel.surfaces.api.tasks.bodies import (
    AssignBody,
    MessageBody,
    OrderBody,
    SeenBody,
    StatusBody,
    TaskBody,
    TaskPatch,
    new_task,
    task_change,
)
from carrel.tools import require_part
from carrel.work import (
    Posted,
    TaskShape,
    assign_task,
    change_task,
    create_task,
    mark_read,
    move_task,
    open_chat,
    post_message,
    reopen_task,
    reorder_tasks,
    stop_task,
    task_shape,
)


class MovedTask(Out, frozen=True, kw_only=True):
    """A task after a move, and the sessions and runs that the move ended."""

    task: TaskShape
    closed_sessions: tuple[str, ...]
    cancelled_runs: tuple[str, ...]


class StoppedTask(Out, frozen=True, kw_only=True):
    """A stopped task and the runs that were cancelled."""

    task: TaskShape
    cancelled_runs: tuple[str, ...]


@endpoint("POST", "/api/tasks", answers={201: one("task", TaskShape)}, body=TaskBody, creates=True)
def create_new_task(call: Call[TaskBody, NoQuery], tx: Tx, access: Access) -> TaskShape:
    """Create a task; its assignees are notified."""
    call.house.refuse_when_draining()
    new = new_task(call.body)
    if new.assigned_agent_ids or new.assigned_user_ids:
        require_part(tx, access, "task_assign", "task_create")
    return task_shape(tx, access, create_task(tx, access, new, call.house.rules))


@endpoint("PATCH", "/api/tasks/{id}", answers={200: one("task", TaskShape)}, body=TaskPatch)
def patch_task(call: Call[TaskPatch, NoQuery], tx: Tx, access: Access) -> TaskShape:
    """Change a task; a new status is reached along the shortest path of legal moves."""
    call.house.refuse_when_draining()
    change, expected = task_change(call.body), call.body.expected_status
    if call.body.status is not UNSET:
        require_part(tx, access, "task_status", "task_update")
    if call.body.assigned_agent_ids is not UNSET or call.body.assigned_user_ids is not UNSET:
        require_part(tx, access, "task_assign", "task_update")
    moved = change_task(tx, access, call.path("id"), change, call.house.rules, expected=expected)
    return task_shape(tx, access, moved.task)


@endpoint("DELETE", "/api/tasks/{id}", answers={200: one("task", TaskShape)})
def delete_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> TaskShape:
    """Archive a task: it can still be read, but nobody works on it any more."""
    return task_shape(tx, access, move_task(tx, access, call.path("id"), "archived", call.house.rules).task)


@endpoint("POST", "/api/tasks/{id}/status", answers={200: MovedTask}, body=StatusBody)
def set_task_status(call: Call[StatusBody, NoQuery], tx: Tx, access: Access) -> MovedTask:
    """Move a task one step; a task that is done or archived closes its sessions."""
    call.house.refuse_when_draining()
    body = call.body
    moved = move_task(
        tx, access, call.path("id"), body.status, call.house.rules,
        reason=body.blocked_reason, expected=body.expected_status,
    )  # fmt: skip
    return MovedTask(
        task=task_shape(tx, access, moved.task),
        closed_sessions=moved.closed_sessions,
        cancelled_runs=moved.cancelled_runs,
    )


@endpoint("POST", "/api/tasks/{id}/reopen", answers={200: one("task", TaskShape)})
def reopen_done_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> TaskShape:
    """Move a task that is done back to review; only people may."""
    return task_shape(tx, access, reopen_task(tx, access, call.path("id")))


@endpoint("POST", "/api/tasks/{id}/assign", answers={200: one("task", TaskShape)}, body=AssignBody)
def assign_to_task(call: Call[AssignBody, NoQuery], tx: Tx, access: Access) -> TaskShape:
    """Assign agents and people to a task, or take them off it; who is new is notified."""
    call.house.refuse_when_draining()
    body = call.body
    task = assign_task(
        tx, access, call.path("id"), call.house.rules,
        agent_ids=body.agent_ids, user_ids=body.user_ids, remove=body.remove,
    )  # fmt: skip
    return task_shape(tx, access, task)


@endpoint("POST", "/api/tasks/{id}/stop", answers={200: StoppedTask})
def stop_all_of_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> StoppedTask:
    """Cancel every run of a task and block it; only people may."""
    moved = stop_task(tx, access, call.path("id"), call.house.rules)
    return StoppedTask(task=task_shape(tx, access, moved.task), cancelled_runs=moved.cancelled_runs)


@endpoint("POST", "/api/tasks/{id}/messages", answers={201: Posted}, body=MessageBody, creates=True)
def post_to_thread(call: Call[MessageBody, NoQuery], tx: Tx, access: Access) -> Posted:
    """Write to a task's thread; everyone whom it concerns is notified in the same transaction."""
    call.house.refuse_when_draining()
    body = call.body
    return post_message(tx, access, call.path("id"), body.content, call.house.rules, attachment_ids=body.attachment_ids)


@endpoint("POST", "/api/tasks/{id}/seen", answers={204: None}, body=SeenBody)
def mark_thread_read(call: Call[SeenBody, NoQuery], tx: Tx, access: Access) -> None:
    """Record how far the caller has read a task's thread; a mark never goes back."""
    mark_read(tx, access, call.path("id"), call.body.seq)


@endpoint("POST", "/api/tasks/reorder", answers={204: None}, body=OrderBody)
def reorder_board(call: Call[OrderBody, NoQuery], tx: Tx, access: Access) -> None:
    """Put tasks into an order, by their places on the board."""
    body = call.body
    reorder_tasks(tx, access, body.ordered_ids, topic_id=body.topic_id, status=body.status)


@endpoint("POST", "/api/orchestrator-chat", answers={200: one("taskId", str)}, who=PEOPLE, tag="tasks")
def open_orchestrator_chat(call: Call[None, NoQuery], tx: Tx, access: Access) -> str:
    """Get the task that is the account's orchestrator chat; the first call makes it."""
    return open_chat(tx, access).id

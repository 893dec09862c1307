"""Changing tasks: create, change, move, assign, stop, archive and order them, and write to their threads.

Agents may call all of these; the room of tasks decides what each may do.
"""

from typing import Annotated

from msgspec import UNSET, Meta

from carrel import work
from carrel.kernel import PEOPLE, Access, Input, Shape
from carrel.kernel.fields import ShortText, at_most, up_to
from carrel.kernel.limits import ATTACHMENTS_MAX, MESSAGE_CHARS_MAX, TASK_LIST_ROWS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.tools import require_part


class StatusBody(Input, frozen=True, kw_only=True):
    """A status to move to: one step of the table, or `done` and others by their own rules."""

    status: work.StatusWord
    blocked_reason: work.BlockedReason | None = None
    expected_status: work.StatusWord | None = None


class AssignBody(Input, frozen=True, kw_only=True):
    """Who is assigned, or with `remove` taken off; by id or slug."""

    agent_ids: work.Names = ()
    user_ids: work.Names = ()
    remove: bool = False


class MessageBody(Input, frozen=True, kw_only=True):
    """A message to a task's thread."""

    content: Annotated[str, up_to(MESSAGE_CHARS_MAX)]
    attachment_ids: Annotated[tuple[ShortText, ...], at_most(ATTACHMENTS_MAX)] = ()


class OrderBody(Input, frozen=True, kw_only=True):
    """Tasks in their new order, optionally all of one topic or status."""

    ordered_ids: Annotated[tuple[ShortText, ...], Meta(max_length=TASK_LIST_ROWS_MAX)]
    topic_id: ShortText | None = None
    status: work.StatusWord | None = None


class SeenBody(Input, frozen=True, kw_only=True):
    """The number of the newest message that was read."""

    seq: Annotated[int, Meta(ge=0, lt=1 << 62)]


class StoppedTask(Shape, frozen=True, kw_only=True):
    """A stopped task and the runs that were cancelled."""

    task: work.TaskShape
    cancelled_runs: tuple[str, ...]


class MovedTask(StoppedTask, frozen=True, kw_only=True):
    """A task after a move, and the sessions and runs that the move ended."""

    closed_sessions: tuple[str, ...]


@endpoint("POST", "/api/tasks", "task", creates=True, tool="task_create", new_work=True)
def create_new_task(call: Call[work.NewTask, NoQuery], tx: Tx, access: Access) -> work.TaskShape:
    """Create a task; its assignees are notified."""
    new = call.body
    if new.assigned_agent_ids or new.assigned_user_ids:
        require_part(tx, access, "task_assign", "task_create")
    return work.task_shape(tx, access, work.create_task(tx, access, new, call.services.rules))


@endpoint("PATCH", "/api/tasks/{id}", "task", tool="task_update", new_work=True)
def patch_task(call: Call[work.TaskChange, NoQuery], tx: Tx, access: Access) -> work.TaskShape:
    """Change a task; a new status is reached along the shortest path of legal moves."""
    change = call.body
    if change.status is not UNSET:
        require_part(tx, access, "task_status", "task_update")
    if change.assigned_agent_ids is not UNSET or change.assigned_user_ids is not UNSET:
        require_part(tx, access, "task_assign", "task_update")
    return work.task_shape(tx, access, work.change_task(tx, access, call.path("id"), change, call.services.rules).task)


@endpoint("DELETE", "/api/tasks/{id}", "task", tool="task_delete")
def delete_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> work.TaskShape:
    """Archive a task: it can still be read, but nobody works on it any more."""
    return work.task_shape(
        tx, access, work.move_task(tx, access, call.path("id"), "archived", call.services.rules).task
    )


@endpoint("POST", "/api/tasks/{id}/status", tool="task_status", new_work=True)
def set_task_status(call: Call[StatusBody, NoQuery], tx: Tx, access: Access) -> MovedTask:
    """Move a task one step; a task that is done or archived closes its sessions."""
    body = call.body
    moved = work.move_task(
        tx, access, call.path("id"), body.status, call.services.rules,
        reason=body.blocked_reason, expected=body.expected_status,
    )  # fmt: skip
    return MovedTask.of(moved, task=work.task_shape(tx, access, moved.task))


@endpoint("POST", "/api/tasks/{id}/reopen", "task", tool="task_status")
def reopen_done_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> work.TaskShape:
    """Move a task that is done back to review; only people may."""
    return work.task_shape(tx, access, work.reopen_task(tx, access, call.path("id")))


@endpoint("POST", "/api/tasks/{id}/assign", "task", tool="task_assign", new_work=True)
def assign_to_task(call: Call[AssignBody, NoQuery], tx: Tx, access: Access) -> work.TaskShape:
    """Assign agents and people to a task, or take them off it; who is new is notified."""
    body = call.body
    task = work.assign_task(
        tx, access, call.path("id"), call.services.rules,
        agent_ids=body.agent_ids, user_ids=body.user_ids, remove=body.remove,
    )  # fmt: skip
    return work.task_shape(tx, access, task)


@endpoint("POST", "/api/tasks/{id}/stop", tool="task_status")
def stop_all_of_task(call: Call[None, NoQuery], tx: Tx, access: Access) -> StoppedTask:
    """Cancel every run of a task and block it; only people may."""
    moved = work.stop_task(tx, access, call.path("id"), call.services.rules)
    return StoppedTask.of(moved, task=work.task_shape(tx, access, moved.task))


@endpoint("POST", "/api/tasks/{id}/messages", creates=True, tool="task_message", new_work=True)
def post_to_thread(call: Call[MessageBody, NoQuery], tx: Tx, access: Access) -> work.Posted:
    """Write to a task's thread; everyone whom it concerns is notified in the same transaction."""
    body = call.body
    return work.post_message(
        tx, access, call.path("id"), body.content, call.services.rules, attachment_ids=body.attachment_ids
    )


@endpoint("POST", "/api/tasks/{id}/seen")
def mark_thread_read(call: Call[SeenBody, NoQuery], tx: Tx, access: Access) -> None:
    """Record how far the caller has read a task's thread; a mark never goes back."""
    work.mark_read(tx, access, call.path("id"), call.body.seq)


@endpoint("POST", "/api/tasks/reorder", tool="task_update")
def reorder_board(call: Call[OrderBody, NoQuery], tx: Tx, access: Access) -> None:
    """Put tasks into an order, by their places on the board."""
    body = call.body
    work.reorder_tasks(tx, access, body.ordered_ids, topic_id=body.topic_id, status=body.status)


@endpoint("POST", "/api/orchestrator-chat", "taskId", who=PEOPLE, tag="tasks")
def open_orchestrator_chat(call: Call[None, NoQuery], tx: Tx, access: Access) -> str:
    """Get the task that is the account's orchestrator chat; the first call makes it."""
    return work.open_chat(tx, access).id

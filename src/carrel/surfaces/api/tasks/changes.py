"""Changing tasks: create, change, move, assign, stop, archive and order them, and write to their threads.

Agents may call all of these; the room of tasks decides what each may do.
"""

from carrel.kernel import PEOPLE, Access
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, Out, endpoint
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
from carrel.surfaces.api.tasks.reads import OneTask
from carrel.work import (
    Notified,
    Task,
    TaskShape,
    ThreadMessage,
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


class PostedMessage(Out, frozen=True, kw_only=True):
    """A message of a thread, and who was notified of it."""

    message: ThreadMessage
    notified: list[Notified]


class ChatNamed(Out, frozen=True, kw_only=True):
    """The task that is the account's orchestrator chat."""

    task_id: str


def _shown(tx: Tx, access: Access, task: Task) -> OneTask:
    return OneTask(task=task_shape(tx, access, task))


@endpoint("POST", "/api/tasks", answers={201: OneTask}, body=TaskBody, creates=True)
async def create_new_task(call: Call[TaskBody, NoQuery]) -> OneTask:
    """Create a task; its assignees are notified."""
    call.house.refuse_when_draining()
    new = new_task(call.body)

    def work(tx: Tx, access: Access) -> OneTask:
        return call.promise(tx, _shown(tx, access, create_task(tx, access, new, call.house.rules)))

    return await call.write(work)


@endpoint("PATCH", "/api/tasks/{id}", answers={200: OneTask}, body=TaskPatch)
async def patch_task(call: Call[TaskPatch, NoQuery]) -> OneTask:
    """Change a task; a new status is reached along the shortest path of legal moves."""
    call.house.refuse_when_draining()
    change, expected = task_change(call.body), call.body.expected_status

    def work(tx: Tx, access: Access) -> OneTask:
        moved = change_task(tx, access, call.path("id"), change, call.house.rules, expected=expected)
        return _shown(tx, access, moved.task)

    return await call.write(work)


@endpoint("DELETE", "/api/tasks/{id}", answers={200: OneTask})
async def delete_task(call: Call[None, NoQuery]) -> OneTask:
    """Archive a task: it can still be read, but nobody works on it any more."""
    return await call.write(
        lambda tx, access: _shown(tx, access, move_task(tx, access, call.path("id"), "archived", call.house.rules).task)
    )


@endpoint("POST", "/api/tasks/{id}/status", answers={200: MovedTask}, body=StatusBody)
async def set_task_status(call: Call[StatusBody, NoQuery]) -> MovedTask:
    """Move a task one step; a task that is done or archived closes its sessions."""
    call.house.refuse_when_draining()
    body = call.body

    def work(tx: Tx, access: Access) -> MovedTask:
        moved = move_task(
            tx, access, call.path("id"), body.status, call.house.rules,
            reason=body.blocked_reason, expected=body.expected_status,
        )  # fmt: skip
        return MovedTask(
            task=task_shape(tx, access, moved.task),
            closed_sessions=moved.closed_sessions,
            cancelled_runs=moved.cancelled_runs,
        )

    return await call.write(work)


@endpoint("POST", "/api/tasks/{id}/reopen", answers={200: OneTask})
async def reopen_done_task(call: Call[None, NoQuery]) -> OneTask:
    """Move a task that is done back to review; only people may."""
    return await call.write(lambda tx, access: _shown(tx, access, reopen_task(tx, access, call.path("id"))))


@endpoint("POST", "/api/tasks/{id}/assign", answers={200: OneTask}, body=AssignBody)
async def assign_to_task(call: Call[AssignBody, NoQuery]) -> OneTask:
    """Assign agents and people to a task, or take them off it; who is new is notified."""
    call.house.refuse_when_draining()
    body = call.body

    def work(tx: Tx, access: Access) -> OneTask:
        task = assign_task(
            tx, access, call.path("id"), call.house.rules,
            agent_ids=body.agent_ids, user_ids=body.user_ids, remove=body.remove,
        )  # fmt: skip
        return _shown(tx, access, task)

    return await call.write(work)


@endpoint("POST", "/api/tasks/{id}/stop", answers={200: StoppedTask})
async def stop_all_of_task(call: Call[None, NoQuery]) -> StoppedTask:
    """Cancel every run of a task and block it; only people may."""

    def work(tx: Tx, access: Access) -> StoppedTask:
        moved = stop_task(tx, access, call.path("id"), call.house.rules)
        return StoppedTask(task=task_shape(tx, access, moved.task), cancelled_runs=moved.cancelled_runs)

    return await call.write(work)


@endpoint("POST", "/api/tasks/{id}/messages", answers={201: PostedMessage}, body=MessageBody, creates=True)
async def post_to_thread(call: Call[MessageBody, NoQuery]) -> PostedMessage:
    """Write to a task's thread; everyone whom it concerns is notified in the same transaction."""
    call.house.refuse_when_draining()
    body = call.body

    def work(tx: Tx, access: Access) -> PostedMessage:
        posted = post_message(
            tx, access, call.path("id"), body.content, call.house.rules, attachment_ids=body.attachment_ids
        )
        return call.promise(tx, PostedMessage(message=posted.message, notified=posted.notified))

    return await call.write(work)


@endpoint("POST", "/api/tasks/{id}/seen", answers={204: None}, body=SeenBody)
async def mark_thread_read(call: Call[SeenBody, NoQuery]) -> None:
    """Record how far the caller has read a task's thread; a mark never goes back."""
    await call.write(lambda tx, access: mark_read(tx, access, call.path("id"), call.body.seq))


@endpoint("POST", "/api/tasks/reorder", answers={204: None}, body=OrderBody)
async def reorder_board(call: Call[OrderBody, NoQuery]) -> None:
    """Put tasks into an order, by their places on the board."""
    body = call.body
    await call.write(
        lambda tx, access: reorder_tasks(tx, access, body.ordered_ids, topic_id=body.topic_id, status=body.status)
    )


@endpoint("POST", "/api/orchestrator-chat", answers={200: ChatNamed}, who=PEOPLE, tag="tasks")
async def open_orchestrator_chat(call: Call[None, NoQuery]) -> ChatNamed:
    """Get the task that is the account's orchestrator chat; the first call makes it."""
    return await call.write(lambda tx, access: ChatNamed(task_id=open_chat(tx, access).id))

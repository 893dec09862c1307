"""What an auto run works on: its first task, and the next ones."""

from typing import Literal

from carrel.goals import Goal, PlannedTask, add_goal_task, find_goal, next_open_task
from carrel.kernel import Access, Code, Refusal, SessionKey, clip, invalid, one_line
from carrel.kernel.limits import AUTO_TITLE_CHARS_MAX
from carrel.modes.auto import store
from carrel.modes.auto.model import AutoRun
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import NewTask, Task, assign_task, create_task, readable_task, tasks_planned

# Why an auto run has no next task.
Over = Literal["task_done", "goal_done", "task_archived", "goal_ended"]
_CLOSED = ("done", "archived")
# Order in which tasks that nobody can begin now are looked at.
_LEFT = ("review", "blocked", "in_progress", "assigned", "inbox")
_PLANNING = "Work out which tasks reach the goal, and make them: they are worked on next. The goal is:\n\n"


def work_message(task: Task) -> str:
    """Return the message that asks an agent to continue a task."""
    work = f"[AUTO] Go on with task {task.id}: {clip(one_line(task.title), AUTO_TITLE_CHARS_MAX)}"
    return f"{work}\nTake the next step now, and say in a few lines what you did."


def first_task(
    tx: Tx, access: Access, key: SessionKey, rules: Rules, *, goal_id: str | None, task_id: str | None,
    text: str | None,
) -> Task:  # fmt: skip
    """Return the first task of a new auto run: a given one, its goal's next, or a new one.

    It is assigned to the session's agent without a notification: the ticks tell it.
    """
    if text is not None and (goal_id or task_id):
        raise invalid("text", "Send text alone: a goal has tasks already, and a task its own description.")
    if goal_id is not None:
        task = _task_of_goal(tx, access, find_goal(tx, access, goal_id, key=key, hold=True), task_id)
    elif task_id is not None:
        task = _given(tx, access, task_id)
    else:
        task = create_task(tx, access, _made_from(key, text), rules)
    return give(tx, access, task, key, rules)


def give(tx: Tx, access: Access, task: Task, key: SessionKey, rules: Rules) -> Task:
    """Assign a task to a session's agent without notifying anybody; the session's lane must not be locked yet."""
    return assign_task(tx, access, task.id, rules, agent_ids=(key.agent,), quiet=True)


def _given(tx: Tx, access: Access, task_id: str) -> Task:
    task, _ = readable_task(tx, access, task_id)
    if task.is_chat:
        raise invalid("taskId", "The orchestrator chat is not work; name another task.")
    if task.status in _CLOSED:
        raise Refusal(Code.CONFLICT, f"This task is {task.status}; there is nothing left to do.", field="taskId")
    return task


def _made_from(key: SessionKey, text: str | None) -> NewTask:
    said = text or ""
    title = clip(one_line(said.strip().partition("\n")[0]), AUTO_TITLE_CHARS_MAX)
    named = title or f"Work in session {key.conversation}"
    return NewTask(title=named, description=said, metadata={"sessionKey": str(key)})


def _task_of_goal(tx: Tx, access: Access, goal: Goal, task_id: str | None) -> Task:
    """Return the first task of a locked goal; for a goal without tasks, a new task to plan them."""
    if goal.status in ("completed", "failed", "cancelled"):
        raise Refusal(Code.CONFLICT, f"This goal is {goal.status}; there is nothing left to do.", field="goalId")
    if task_id is not None:
        task = _given(tx, access, task_id)
        if task.goal_id != goal.id:
            raise invalid("taskId", "This task is not one of the goal's.")
        return task
    if not tasks_planned(tx, access, goal_id=goal.id):
        title = f"Plan the goal: {clip(one_line(goal.name), AUTO_TITLE_CHARS_MAX)}"
        description = f"{_PLANNING}{goal.name}\n\n{goal.description}".strip()
        return add_goal_task(tx, access, goal, PlannedTask(title=title, description=description))
    if (found := _next(tx, access, goal, taken_by_others(tx, access, goal.id, goal.key))) is None:
        raise Refusal(Code.CONFLICT, "This goal has no open task left.", field="goalId")
    return found


def _next(tx: Tx, access: Access, goal: Goal, taken: set[str]) -> Task | None:
    """Return the goal's next open task, even if it cannot begin yet; None if none is left.

    Tasks of the goal's other auto runs come last.
    """
    left = [task for task in tasks_planned(tx, access, goal_id=goal.id) if task.status not in _CLOSED]
    free = next_open_task(tx, access, goal, taken)
    return free or min(left, key=lambda task: (task.id in taken, _LEFT.index(task.status)), default=None)


def taken_by_others(
    tx: Tx, access: Access, goal_id: str | None, key: str, *, before: str | None = None, but: str | None = None
) -> set[str]:  # fmt: skip
    """Return the tasks that live auto runs of a goal work on; with `before` only of those started earlier."""
    live = store.auto_runs_of_session(tx, access, key)
    others = [auto for auto in live if goal_id is not None and auto.goal_id == goal_id and auto.id != but]
    return {auto.task_id for auto in others if before is None or auto.id < before}


def task_to_do(tx: Tx, auto: AutoRun) -> Task | Over:
    """Return the task that an auto run continues with, or why there is none."""
    task, _ = readable_task(tx, auto.access, auto.task_id)
    if auto.goal_id is None:
        return task if task.status not in _CLOSED else "task_done" if task.status == "done" else "task_archived"
    try:
        goal = find_goal(tx, auto.access, auto.goal_id, key=auto.session_key)
    except Refusal:
        return "goal_ended"
    if goal.status in ("failed", "cancelled"):
        return "goal_ended"
    is_open = task.goal_id == goal.id and task.status not in (*_CLOSED, "blocked")
    if is_open and not is_taken(tx, auto, task):
        return task
    return _next(tx, auto.access, goal, taken_by_others(tx, auto.access, goal.id, auto.key, but=auto.id)) or "goal_done"


def is_taken(tx: Tx, auto: AutoRun, task: Task) -> bool:
    """Return whether an earlier auto run works on a task: two on one would do everything twice."""
    return task.id in taken_by_others(tx, auto.access, auto.goal_id, auto.key, before=auto.id)

"""What an auto run works on: the task it starts with, and the one that comes next."""

from typing import Literal

from carrel.goals import Goal, PlannedTask, add_goal_task, find_goal, next_open_task
from carrel.kernel import Access, Code, Refusal, SessionKey, clip, invalid, one_line
from carrel.kernel.limits import AUTO_TITLE_CHARS_MAX
from carrel.modes.auto.model import AutoRun
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import NewTask, Task, assign_task, create_task, readable_task, tasks_planned

# Why an auto run has no task to go on with.
Over = Literal["task_done", "goal_done", "task_archived", "goal_ended"]
_CLOSED = ("done", "archived")
# Of the tasks that nobody can begin now, those are looked at first.
_LEFT = ("review", "blocked", "in_progress", "assigned", "inbox")
_PLANNING = "Work out which tasks reach the goal, and make them: they are worked on next. The goal is:\n\n"

_WORK = """[AUTO] Go on with task {id}: {title}
Take the next step now, and say in a few lines what you did. When nothing is left to do, move the task to review and \
then to done. When you cannot go on without a person, ask them."""


def work_message(task: Task) -> str:
    """Return what an agent is told when it is to go on with a task."""
    return _WORK.format(id=task.id, title=clip(one_line(task.title), AUTO_TITLE_CHARS_MAX))


def first_task(
    tx: Tx, access: Access, key: SessionKey, rules: Rules, *, goal_id: str | None, task_id: str | None,
    text: str | None,
) -> Task:  # fmt: skip
    """Return the task that a new auto run of a session begins with: a given one, its goal's next, or one made for it.

    It is given to the session's agent, who is not notified: its ticks are what tells it.
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
    """Assign a task to the agent of a session, without telling anybody; the session's lane must not be locked yet."""
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
    """Return the task of a locked goal to begin with; one without tasks gets a task to plan them."""
    if goal.status in ("completed", "failed", "cancelled"):
        raise Refusal(Code.CONFLICT, f"This goal is {goal.status}; there is nothing left to do.", field="goalId")
    if task_id is not None:
        task = _given(tx, access, task_id)
        if task.goal_id != goal.id:
            raise invalid("taskId", "This task is not one of the goal's.")
        return task
    if not tasks_planned(tx, access, goal_id=goal.id):
        return add_goal_task(tx, access, goal, planning_task(goal))
    found = _next(tx, access, goal)
    if found is None:
        raise Refusal(Code.CONFLICT, "This goal has no open task left.", field="goalId")
    return found


def planning_task(goal: Goal) -> PlannedTask:
    """Return the task to plan a goal that has none."""
    title = f"Plan the goal: {clip(one_line(goal.name), AUTO_TITLE_CHARS_MAX)}"
    return PlannedTask(title=title, description=f"{_PLANNING}{goal.name}\n\n{goal.description}".strip())


def _next(tx: Tx, access: Access, goal: Goal) -> Task | None:
    """Return the goal's next open task, even if it can only be looked at again later; None when none is left."""
    left = [task for task in tasks_planned(tx, access, goal_id=goal.id) if task.status not in _CLOSED]
    return next_open_task(tx, access, goal) or min(left, key=lambda task: _LEFT.index(task.status), default=None)


def task_to_do(tx: Tx, auto: AutoRun) -> Task | Over:
    """Return the task that an auto run goes on with, or why there is none."""
    task, _ = readable_task(tx, auto.access, auto.task_id)
    if auto.goal_id is None:
        return task if task.status not in _CLOSED else "task_done" if task.status == "done" else "task_archived"
    try:
        goal = find_goal(tx, auto.access, auto.goal_id, key=auto.session_key)
    except Refusal:
        return "goal_ended"
    if goal.status in ("failed", "cancelled"):
        return "goal_ended"
    if task.goal_id == goal.id and task.status not in (*_CLOSED, "blocked"):
        return task
    return _next(tx, auto.access, goal) or "goal_done"

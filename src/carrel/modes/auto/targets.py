"""What an auto run works on: the task it starts with, and the one that comes next."""

from typing import Literal

from carrel.kernel import Access, Code, Refusal, SessionKey, clip, invalid, one_line
from carrel.kernel.limits import AUTO_TITLE_CHARS_MAX
from carrel.modes.auto.model import AutoRun
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import NewTask, Task, assign_task, create_task, find_task

# Why an auto run has no task to go on with.
Over = Literal["task_done", "goal_done", "task_archived", "goal_ended"]
_CLOSED = ("done", "archived")


def first_task(
    tx: Tx, access: Access, key: SessionKey, rules: Rules, *, task_id: str | None, text: str | None
) -> Task:  # fmt: skip
    """Return the task that a new auto run of a session begins with: a given one, or one made for it.

    It is given to the session's agent, who is not notified: its ticks are what tells it.
    """
    if task_id is None:
        task = create_task(tx, access, _made_from(key, text), rules)
    else:
        task = _given(tx, access, task_id, text)
    return assign_task(tx, access, task.id, rules, agent_ids=(key.agent,), quiet=True)


def _given(tx: Tx, access: Access, task_id: str, text: str | None) -> Task:
    if text is not None:
        raise invalid("text", "Send taskId or text, not both: a task that exists has its own description.")
    task = find_task(tx, access, task_id)
    if task.is_chat:
        raise invalid("taskId", "The orchestrator chat is not work; name another task.")
    if task.status in _CLOSED:
        raise Refusal(Code.CONFLICT, f"This task is {task.status}; there is nothing left to do.", field="taskId")
    return task


def _made_from(key: SessionKey, text: str | None) -> NewTask:
    if text is None:
        return NewTask(title=f"Work in session {key.conversation}", metadata={"sessionKey": str(key)})
    title = clip(one_line(text.strip().partition("\n")[0]), AUTO_TITLE_CHARS_MAX)
    return NewTask(title=title, description=text, metadata={"sessionKey": str(key)})


def task_to_do(tx: Tx, auto: AutoRun) -> Task | Over:
    """Return the task that an auto run goes on with, or why there is none."""
    task = find_task(tx, auto.access, auto.task_id)
    if task.status not in _CLOSED:
        return task
    return "task_done" if task.status == "done" else "task_archived"

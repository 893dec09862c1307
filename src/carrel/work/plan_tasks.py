"""The tasks of plans: what the server itself does with them, for the room above that knows plans and goals.

Callers must have locked the goal and the plan; the tasks are locked here, before their lanes and runs.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from carrel.journal import entries_of_run
from carrel.kernel import Access, invalid
from carrel.notices import Recipient
from carrel.runs import Rules, Run, cancel
from carrel.storage import Tx
from carrel.work import run_store, store
from carrel.work.activities import publish, record
from carrel.work.audience import notify_about
from carrel.work.model import NEEDS_ASSIGNEE, NewTask, Status, Task, check_texts, path
from carrel.work.moves import enter_status
from carrel.work.permissions import SERVER, Actor, actor_of
from carrel.work.tasks import insert_new, set_dependencies

# A detail of a message: its run was told that its answer marks the task as done.
SAYS_DONE = "answerSaysDone"
_INDEX = re.compile(r"task-(\d{1,4})")
_NOT_TOLD = "The agent could not be told: it is disabled, or its session takes no messages."


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a plan's task: whether it may begin, and the newest run of the plan's agent on it.

    `says_done`: the run has ended, and its end alone means that the task is done.
    """

    task: Task
    is_ready: bool
    run: Run | None
    says_done: bool = False


def needed_tasks(tx: Tx, access: Access, task_id: str) -> list[Task]:
    """Return the tasks that a task depends on, oldest first."""
    needs = store.dependencies_of(tx, access, [task_id]).get(task_id, [])
    return sorted(store.tasks_by_id(tx, access, set(needs)), key=lambda task: task.seq)


def plan_tasks(
    tx: Tx, access: Access, new: Sequence[NewTask], *, plan_id: str | None = None, goal_id: str | None = None
) -> list[Task]:  # fmt: skip
    """Add tasks to a plan, or to a goal without one, all or none.

    A dependency is another task of the same goal, or of the same plan without one; `task-<n>` is the n-th of `new`.
    """
    author = SERVER if access.kind == "client" else actor_of(tx, access)
    present = [] if plan_id is None else store.tasks_planned(tx, access, plan_id=plan_id)
    first = max((task.task_index or 0 for task in present), default=-1) + 1
    made = [_add(tx, access, author, one, plan_id, goal_id, first + at) for at, one in enumerate(new)]
    near = present + made if goal_id is None else store.tasks_planned(tx, access, goal_id=goal_id)
    known = {task.id for task in near}
    for task, one in zip(made, new, strict=True):
        named = tuple(_dependency(other, made, known) for other in one.dependencies)
        set_dependencies(tx, access.as_system(), task, named)
    for task in made:
        publish(tx, access, "task.created", task)
    return made


def _add(
    tx: Tx, access: Access, author: Actor, new: NewTask, plan_id: str | None, goal_id: str | None, index: int
) -> Task:  # fmt: skip
    check_texts(new.title, new.description, None, ())
    at = None if plan_id is None else index
    task = insert_new(tx, access, author, new, goal_id=goal_id, plan_id=plan_id, task_index=at)
    if author.kind == "user":
        store.subscribe(tx, access, task.id, *author.party)
    planned = {"goalId": goal_id, "planId": plan_id}
    record(tx, access, author, task, "created", f"{author.name} planned the task.", **planned)
    return task


def _dependency(named: str, made: list[Task], known: set[str]) -> str:
    found = _INDEX.fullmatch(named)
    if found is not None and int(found[1]) < len(made):
        return made[int(found[1])].id
    if named in known:
        return named
    message = f"There is no task '{named[:80]}' of this plan; task-0 is the first of the list, of {len(made)}."
    raise invalid("dependencies", message)


def hold_planned(tx: Tx, access: Access, plan_id: str) -> list[Task]:
    """Return the tasks of a plan in their order, locked."""
    ids = sorted(task.id for task in store.tasks_planned(tx, access, plan_id=plan_id))
    held = [task for task_id in ids if (task := store.hold_task(tx, access, task_id)) is not None]
    return sorted((task for task in held if task.plan_id == plan_id), key=lambda task: (task.task_index or 0, task.id))


def progress_of(tx: Tx, access: Access, tasks: Sequence[Task], agent_id: str) -> list[Progress]:
    """Return the progress of some tasks that an agent works on."""
    needs = store.dependencies_of(tx, access, [task.id for task in tasks])
    others = store.tasks_by_id(tx, access, {other for each in needs.values() for other in each})
    done = {task.id for task in others if task.status == "done" and not _is_worked_on(tx, access, task)}
    runs = run_store.newest_runs_of_tasks(tx, access, [task.id for task in tasks], agent_id)
    return [
        Progress(
            task=task,
            is_ready=task.status in ("inbox", "assigned") and done.issuperset(needs.get(task.id, ())),
            run=runs.get(task.id),
            says_done=task.id in runs and task.status != "done" and _says_done(tx, runs[task.id]),
        )
        for task in tasks
    ]


def _is_worked_on(tx: Tx, access: Access, task: Task) -> bool:
    """Whether a turn on a task is still running: others wait for its answer."""
    return any(run.state == "running" for run in run_store.live_runs_of_task(tx, access, task.id))


def _says_done(tx: Tx, run: Run) -> bool:
    """Whether the end of a run marks its task as done, which only holds if the agent has no other way.

    A caller over A2A learns that its own run is completed; an agent without a tool for it was asked to mark the task as
    done by answering its assignment.
    """
    if run.state != "completed" or run.provenance_kind == "a2a":
        return run.state == "completed"
    if run.source().type not in ("assignment", "status_change") or not run.reply:
        return False
    heard = next((entry for entry in entries_of_run(tx, run.access, run.id) if entry.id == run.message_id), None)
    return heard is not None and bool((heard.details or {}).get(SAYS_DONE))


def start_planned(tx: Tx, access: Access, task: Task, agent_id: str, made_by: str, rules: Rules) -> Task:
    """Give a locked task to an agent in the name of the plan's creator; if that is refused, the task fails."""
    if not store.is_assigned(tx, access, task.id, "agent", agent_id):
        _assign(tx, access, task, agent_id)
    begun = _set_failed(task, failed=False)
    if begun.status != "in_progress":
        begun = enter_status(tx, access, SERVER, begun, "in_progress", rules, quiet=True).task
    text = f"{SERVER.name} assigned you to this task: {begun.title}"
    planner, assigned = structs.replace(SERVER, id=made_by), [Recipient("agent", agent_id, "assignment")]
    if notify_about(tx, access, planner, begun, text, assigned, rules):
        return begun
    return move_planned(tx, access, begun, "blocked", rules, reason=_NOT_TOLD, failed=True)


def _assign(tx: Tx, access: Access, task: Task, agent_id: str) -> None:
    store.set_assigned(tx, access, task.id, "agent", agent_id, tx.now)
    parties = [{"kind": "agent", "id": agent_id}]
    record(tx, access, SERVER, task, "assigned", f"{SERVER.name} assigned {agent_id}.", parties=parties)


def move_planned(
    tx: Tx, access: Access, task: Task, to: Status, rules: Rules, *, reason: str | None = None, failed: bool = False,
    agent_id: str | None = None,
) -> Task:  # fmt: skip
    """Move a locked task on the server's behalf if there is a legal path; archiving cancels its runs.

    `failed` marks a task that is blocked because nobody could do it; `agent_id` gets a task without an assignee.
    """
    if task.status == to and (task.metadata.get("failed") is True) == failed:
        return task
    if task.status != to:
        path(task.status, to)
    if agent_id is not None and to in NEEDS_ASSIGNEE and not store.assignees_of(tx, access, [task.id]):
        _assign(tx, access, task, agent_id)
    if to == "archived":
        for run in run_store.live_runs_of_task(tx, access, task.id):
            # A run that ends its own plan continues to its end.
            if run.id != access.run_id:
                cancel(tx, access, run.id, "stopped")
    # An agent notified of a task that somebody else starts would work on it as well.
    quiet = to in (*NEEDS_ASSIGNEE, "inbox", "review")
    moved = enter_status(tx, access, SERVER, _set_failed(task, failed=failed), to, rules, reason=reason, quiet=quiet)
    return moved.task


def release_planned(tx: Tx, access: Access, task: Task) -> None:
    """Take a locked task out of its plan."""
    alone = structs.replace(task, goal_id=None, plan_id=None, task_index=None)
    publish(tx, access, "task.updated", store.save_task(tx, access, alone))


def _set_failed(task: Task, *, failed: bool) -> Task:
    rest = {name: value for name, value in task.metadata.items() if name != "failed"}
    return structs.replace(task, metadata=rest | ({"failed": True} if failed else {}))

"""Stalled tasks: in progress, but nobody works on them. Their agents are reminded a few times, then people must act."""

from functools import partial

from msgspec import structs

from carrel.kernel import MS_PER_MINUTE, MS_PER_SECOND, Access, limits, system_access
from carrel.notices import Recipient, notices_of
from carrel.notifications import OWNERS
from carrel.runs import Rules, Run
from carrel.storage import Database, StepDuty, Tx
from carrel.work import run_store, store
from carrel.work.audience import notify_about
from carrel.work.directory import directory_of
from carrel.work.model import Task
from carrel.work.permissions import SERVER
from carrel.work.run_store import Stall

_GO_ON = (
    "Your last turn on this task ended without saying that it is done. Go on now: do what is left, and say with the "
    "task's status that it is done; if you cannot, set it to blocked with what you need. (Reminder {} of {}.)"
)


def watch(tx: Tx, ended: Run, task_id: str, rules: Rules) -> None:
    """Record that a run on a locked task has ended; only news resets the count of reminders."""
    access, task = ended.access, store.task_by_id(tx, ended.access, task_id)
    if task is None or task.status != "in_progress" or task.is_chat:
        run_store.delete_stall(tx, access, task_id)
        return
    before = run_store.stall_of(tx, access, task_id)
    taken_up = 0 if before is None or _is_new(tx, ended) else before.taken_up
    last = _last_turn(tx, access, task)
    is_over = taken_up >= len(limits.STALL_PAUSES_MINUTES)
    due_at = None if last is None or is_over else tx.now + limits.STALL_PAUSES_MINUTES[taken_up] * MS_PER_MINUTE
    run_id = ended.id if last is None else last.id
    stall = Stall(account_id=access.account_id, task_id=task_id, run_id=run_id, taken_up=taken_up, due_at=due_at)
    run_store.put_stall(tx, access, stall)
    if due_at is not None:
        tx.wake(run_store.STALLS.bell)
    elif is_over and last is not None:
        _tell_people(tx, access, task, rules)


def _is_new(tx: Tx, run: Run) -> bool:
    """Whether a run brought a task something other than a reminder: a person's words, an assignment."""
    notices = notices_of(tx, run.access, [run.id]).get(run.id, [])
    return not notices or any(one.author_kind == "user" or one.type == "assignment" for one in notices)


def _last_turn(tx: Tx, access: Access, task: Task) -> Run | None:
    """Return the turn with which a task stalled; None while somebody works on it, or nobody could."""
    newest = run_store.newest_run_of_task(tx, access, task.id)
    # An auto run continues by itself.
    if newest is None or newest.auto_run_id is not None or run_store.live_runs_of_task(tx, access, task.id):
        return None
    agents = directory_of(tx, access).agents
    assigned = store.assignees_of(tx, access, [task.id]).get(task.id, [])
    able = [one.party_id for one in assigned if one.kind == "agent" and agents[one.party_id].enabled]
    runs = [run for agent in able for run in run_store.newest_runs_of_tasks(tx, access, [task.id], agent).values()]
    last = max(runs, key=lambda run: run.id, default=None)
    return last if last is not None and last.state == "completed" else None


def _tell_people(tx: Tx, access: Access, task: Task, rules: Rules) -> None:
    """Leave a task to its people and the account's owners."""
    people = {OWNERS, *(one.party_id for one in store.parties_of(tx, access, task.id) if one.kind == "user")}
    times = len(limits.STALL_PAUSES_MINUTES)
    text = f"It was taken up {times} times, and no turn said that it is done. Write what is to be done, or move it."
    recipients = [Recipient("user", person, "stalled") for person in sorted(people)]
    notify_about(tx, access, SERVER, task, text, recipients, rules)


def stall_duty(db: Database, rules: Rules) -> StepDuty[Stall]:
    """Return the duty that resumes stalled tasks."""
    step = partial(_remind, rules=rules)
    return StepDuty(
        db, run_store.STALLS, step, items_max=limits.STALLS_AT_A_TIME, retry_seconds=limits.STALL_RETRY_SECONDS
    )


def _remind(tx: Tx, item: Stall, rules: Rules) -> None:
    """Ask the agent to go on, unless something has happened since or another server did so."""
    access = system_access(item.account_id)
    task = store.hold_task(tx, access, item.task_id)
    stall = run_store.stall_of(tx, access, item.task_id)
    if stall is None or stall.due_at is None or stall.due_at > tx.now:
        return
    last = None if task is None or task.status != "in_progress" else _last_turn(tx, access, task)
    if task is None or last is None or last.id != stall.run_id:
        run_store.put_stall(tx, access, structs.replace(stall, due_at=None))
        return
    text = _GO_ON.format(stall.taken_up + 1, len(limits.STALL_PAUSES_MINUTES))
    # It sees what the turn saw that it continues.
    seen = structs.replace(access, space_ids=last.spaces, behalf=last.behalf)
    if notify_about(tx, seen, SERVER, task, text, [Recipient("agent", last.agent_id, "stalled")], rules):
        # The next pause begins when the turn has ended.
        run_store.put_stall(tx, access, structs.replace(stall, taken_up=stall.taken_up + 1, due_at=None))
    else:
        run_store.STALLS.postpone(tx, stall, tx.now + limits.STALL_RETRY_SECONDS * MS_PER_SECOND)

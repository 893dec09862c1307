"""What the end of a run means for its task: the reply is distributed, and the assigned task is in progress.

The end is recorded in its own transaction and handled in another: tasks are locked before lanes, and a run that ends
already holds its lane.
"""

from msgspec import structs

from carrel.agents import agent_by_id
from carrel.journal import Entry, entries_of_run
from carrel.kernel import MS_PER_MINUTE, MS_PER_SECOND, Access, SessionKey, limits, not_found, system_access
from carrel.notifications import OWNERS
from carrel.runs import Delivering, Rules, Run, RunChanged, run_by_id
from carrel.sessions import close_generation
from carrel.storage import Database, StepDuty, Tx
from carrel.work import notice_store, store
from carrel.work.directory import Directory
from carrel.work.model import Task
from carrel.work.moves import agents_told_of_move, enter_status
from carrel.work.notice_store import RunEnd, Stall
from carrel.work.notices import Recipient, TaskNotice, notify_recipients
from carrel.work.permissions import SERVER, agent_actor
from carrel.work.thread import distribute, heard_before_reopening

# The bell that is rung when a task may have stalled.
STALLS = "stalls"
_GO_ON = (
    "Your last turn on this task ended without saying that it is done. Go on now: do what is left, and say with the "
    "task's status that it is done; if you cannot, set it to blocked with what you need. (Reminder {} of {}.)"
)
# The bell that is rung when a run of a task has ended.
RUN_ENDS = "task_run_ends"
_ENDS = ("completed", "failed", "cancelled")


def watch(tx: Tx, ended: Run, task_id: str, rules: Rules) -> None:
    """Record that a run on a locked task has ended; only news resets the count of reminders."""
    access, task = ended.access, store.task_by_id(tx, ended.access, task_id)
    if task is None or task.status != "in_progress" or task.is_chat:
        notice_store.delete_stall(tx, access, task_id)
        return
    before = notice_store.stall_of(tx, access, task_id)
    taken_up = 0 if before is None or _is_new(tx, ended) else before.taken_up
    last = _last_turn(tx, access, task)
    is_over = taken_up >= len(limits.STALL_PAUSES_MINUTES)
    due_at = None if last is None or is_over else tx.now + limits.STALL_PAUSES_MINUTES[taken_up] * MS_PER_MINUTE
    run_id = ended.id if last is None else last.id
    stall = Stall(account_id=access.account_id, task_id=task_id, run_id=run_id, taken_up=taken_up, due_at=due_at)
    notice_store.put_stall(tx, access, stall)
    if due_at is not None:
        tx.wake(STALLS)
    elif is_over and last is not None:
        _tell_people(tx, access, task, rules)


def _is_new(tx: Tx, run: Run) -> bool:
    """Whether a run brought a task something other than a reminder: a person's words, an assignment."""
    notices = notice_store.notices_of(tx, run.access, [run.id]).get(run.id, [])
    return not notices or any(one.author_kind == "user" or one.type == "assignment" for one in notices)


def _last_turn(tx: Tx, access: Access, task: Task) -> Run | None:
    """Return the turn with which a task stalled; None while somebody works on it, or nobody could."""
    newest = notice_store.newest_run_of_task(tx, access, task.id)
    # An auto run continues by itself.
    if newest is None or newest.auto_run_id is not None or notice_store.live_runs_of_task(tx, access, task.id):
        return None
    agents = Directory(tx, access).agents
    assigned = store.assignees_of(tx, access, [task.id]).get(task.id, [])
    able = [one.party_id for one in assigned if one.kind == "agent" and agents[one.party_id].enabled]
    runs = [run for agent in able for run in notice_store.newest_runs_of_tasks(tx, access, [task.id], agent).values()]
    last = max(runs, key=lambda run: run.id, default=None)
    return last if last is not None and last.state == "completed" else None


def _tell_people(tx: Tx, access: Access, task: Task, rules: Rules) -> None:
    """Leave a task to its people and the account's owners."""
    people = {OWNERS, *(one.party_id for one in store.parties_of(tx, access, task.id) if one.kind == "user")}
    times = len(limits.STALL_PAUSES_MINUTES)
    text = f"It was taken up {times} times, and no turn said that it is done. Write what is to be done, or move it."
    recipients = [Recipient("user", person, "stalled") for person in sorted(people)]
    notify_recipients(tx, access, TaskNotice(task=task, actor=SERVER, text=text), recipients, rules)


class Stalls(StepDuty[Stall]):
    """Resumes stalled tasks."""

    name = "stalls"
    bell = STALLS
    items_max = limits.STALLS_AT_A_TIME
    next_due = staticmethod(notice_store.next_stall_due)
    take = staticmethod(notice_store.stalls_due)

    def __init__(self, db: Database, rules: Rules) -> None:
        super().__init__(db)
        self._rules = rules

    def advance(self, tx: Tx, item: Stall) -> None:
        """Ask the agent to go on, unless something has happened since or another server did so."""
        access = system_access(item.account_id)
        task = store.hold_task(tx, access, item.task_id)
        stall = notice_store.stall_of(tx, access, item.task_id)
        if stall is None or stall.due_at is None or stall.due_at > tx.now:
            return
        last = None if task is None or task.status != "in_progress" else _last_turn(tx, access, task)
        if task is None or last is None or last.id != stall.run_id:
            notice_store.put_stall(tx, access, structs.replace(stall, due_at=None))
            return
        text = _GO_ON.format(stall.taken_up + 1, len(limits.STALL_PAUSES_MINUTES))
        # It sees what the turn saw that it continues.
        seen = structs.replace(access, space_ids=last.spaces, behalf=last.behalf)
        news = TaskNotice(task=task, actor=SERVER, text=text)
        if notify_recipients(tx, seen, news, [Recipient("agent", last.agent_id, "stalled")], self._rules):
            # The next pause begins when the turn has ended.
            notice_store.put_stall(tx, access, structs.replace(stall, taken_up=stall.taken_up + 1, due_at=None))
        else:
            self.postpone(tx, stall)

    def postpone(self, tx: Tx, item: Stall) -> None:
        """Postpone this task."""
        until = tx.now + limits.STALL_RETRY_SECONDS * MS_PER_SECOND
        notice_store.postpone_stall(tx, system_access(item.account_id), item.task_id, until)


def require_task(tx: Tx, delivering: Delivering) -> None:
    """Refuse a message about a task that does not exist."""
    envelope = delivering.envelope
    task_id = envelope.task_id or envelope.key.task_id
    if task_id is not None and store.task_by_id(tx, delivering.access, task_id) is None:
        raise not_found("task")


def note_end(tx: Tx, changed: RunChanged) -> None:
    """Record that a run of a task has ended; one that started after its task was done closes its session."""
    run = changed.run
    if run.task_id is None or changed.state not in _ENDS:
        return
    if (task := store.task_by_id(tx, run.access, run.task_id)) is None:
        # The task is not in this account, which is why the run ended.
        return
    if run.provenance_kind in store.ANSWERING_KINDS:
        notice_store.note_run_end(tx, run.access, run.id, task.id)
        tx.wake(RUN_ENDS)
    key = SessionKey.stored(run.key)
    is_late = task.status == "done" or heard_before_reopening(tx, run.access, task, run.id)
    if key.task_id == task.id and run.started_at is not None and is_late:
        close_generation(tx, run.access, key, "task_done")


class RunEnds(StepDuty[RunEnd]):
    """Handles the ends of runs of tasks."""

    name = "task_run_ends"
    bell = RUN_ENDS
    items_max = limits.TASK_RUN_ENDS_AT_A_TIME
    next_due = staticmethod(notice_store.next_run_end_due)
    take = staticmethod(notice_store.run_ends_due)

    def __init__(self, db: Database, rules: Rules) -> None:
        super().__init__(db)
        self._rules = rules

    def advance(self, tx: Tx, item: RunEnd) -> None:
        """Handle the end of one run, if no other server has done so."""
        access = system_access(item.account_id)
        task = store.hold_task(tx, access, item.task_id)
        run = run_by_id(tx, access, item.run_id)
        if not notice_store.finish_run_end(tx, access, item.run_id) or task is None or run is None:
            return
        # A message that joined another run is answered when that one ends.
        if not run.has_joined:
            handle_end(tx, run, task, self._rules)
            watch(tx, run, task.id, self._rules)

    def postpone(self, tx: Tx, item: RunEnd) -> None:
        """Postpone handling this end."""
        until = tx.now + limits.TASK_RUN_END_RETRY_SECONDS * MS_PER_SECOND
        notice_store.postpone_run_end(tx, system_access(item.account_id), item.run_id, until)


def handle_end(tx: Tx, run: Run, task: Task, rules: Rules) -> None:
    """Distribute what a run said on its locked task and the status it set, and start an answered assignment."""
    access, reply = run.access, _reply(tx, run)
    agent = agent_by_id(tx, access, run.agent_id)
    assert agent is not None, "an agent is never deleted"
    as_agent = structs.replace(access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id)
    actor = agent_actor(tx, as_agent, agent)
    told, directory, move = run.source().type or None, Directory(tx, access), _move_of(tx, run, task)
    following = [] if move is None else agents_told_of_move(tx, access, task, actor, directory)
    if reply is None:
        notice_store.answer_request(tx, access, task.id, run.agent_id, run_id=run.id)
    else:
        besides = frozenset(each.id for each in following)
        distribute(tx, access, actor, task, reply, directory, rules, answers=told, besides=besides)
    if move is not None:
        notify_recipients(tx, access, TaskNotice(task=task, actor=actor, text=move.content), following, rules)
    if reply is None:
        return
    present = store.task_by_id(tx, access, task.id)
    if told == "assignment" and present is not None and present.status == "assigned":
        enter_status(tx, access, actor, present, "in_progress", rules, quiet=True)


def _move_of(tx: Tx, run: Run, task: Task) -> Entry | None:
    """The run's move that still holds: agents are notified of it together with the answer."""
    moves = [one for one in entries_of_run(tx, run.access, run.id) if (one.details or {}).get("activity") == "moved"]
    newest = next((one for one in reversed(moves) if one.task_id == task.id), None)
    return newest if newest is not None and newest.created_at == task.status_at else None


def _reply(tx: Tx, run: Run) -> Entry | None:
    """The reply that a run left in the thread; neither a question to a person nor a tool's post."""
    if run.state != "completed":
        return None
    said = [one for one in entries_of_run(tx, run.access, run.id) if one.role == "assistant" and one.session_id]
    newest = said[-1] if said else None
    if newest is None or newest.task_view != "thread" or (newest.details or {}).get("question"):
        return None
    return newest

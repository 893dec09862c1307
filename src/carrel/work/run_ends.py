"""What the end of a run means for its task: the reply is distributed, and the assigned task is in progress.

The end is recorded in its own transaction and handled in another: tasks are locked before lanes, and a run that ends
already holds its lane.
"""

from functools import partial

from msgspec import structs

from carrel.access import SpaceRemoved, UserRemoved
from carrel.agents import AccountChanged, agent_by_id
from carrel.journal import Entry, entries_of_run
from carrel.kernel import SessionKey, not_found, system_access
from carrel.kernel.limits import TASK_RUN_END_RETRY_SECONDS, TASK_RUN_ENDS_AT_A_TIME
from carrel.runs import Delivering, Rules, Run, RunChanged, run_by_id
from carrel.sessions import close_generation
from carrel.storage import Database, StepDuty, Tx
from carrel.topics import TopicMoved
from carrel.work import run_store, store
from carrel.work.assignments import forget_user
from carrel.work.audience import notify_about
from carrel.work.locations import leave_space, move_with_topic
from carrel.work.model import Task
from carrel.work.moves import agents_told_of_move, enter_status
from carrel.work.orchestrator import follow_account
from carrel.work.permissions import agent_actor
from carrel.work.run_store import RunEnd
from carrel.work.stalls import watch
from carrel.work.thread import distribute, heard_before_reopening


def observe_runs(db: Database) -> None:
    """Register the observers of runs, accounts, users, spaces and topics."""
    db.observe(Delivering, _require_task)
    db.observe(RunChanged, _note_end)
    db.observe(AccountChanged, follow_account)
    db.observe(UserRemoved, forget_user)
    db.observe(TopicMoved, move_with_topic)
    db.observe(SpaceRemoved, leave_space)


def _require_task(tx: Tx, delivering: Delivering) -> None:
    envelope = delivering.envelope
    task_id = envelope.task_id or envelope.key.task_id
    if task_id is not None and store.task_by_id(tx, delivering.access, task_id) is None:
        raise not_found("task")


def _note_end(tx: Tx, changed: RunChanged) -> None:
    """Record that a run of a task has ended; one that started after its task was done closes its session."""
    run = changed.run
    if run.task_id is None or not changed.ended:
        return
    if (task := store.task_by_id(tx, run.access, run.task_id)) is None:
        # The task is not in this account, which is why the run ended.
        return
    if run.provenance_kind in run_store.ANSWERING_KINDS:
        run_store.note_run_end(tx, run.access, run.id, task.id)
        tx.wake(run_store.RUN_ENDS.bell)
    key = SessionKey.stored(run.key)
    is_late = task.status == "done" or heard_before_reopening(tx, run.access, task, run.id)
    if key.task_id == task.id and run.started_at is not None and is_late:
        close_generation(tx, run.access, key, "task_done")


def run_end_duty(db: Database, rules: Rules) -> StepDuty[RunEnd]:
    """Return the duty that handles the ends of runs of tasks."""
    step = partial(_handle, rules=rules)
    return StepDuty(
        db, run_store.RUN_ENDS, step, items_max=TASK_RUN_ENDS_AT_A_TIME, retry_seconds=TASK_RUN_END_RETRY_SECONDS
    )


def _handle(tx: Tx, item: RunEnd, rules: Rules) -> None:
    """Handle the end of one run, if no other server has done so."""
    access = system_access(item.account_id)
    task = store.hold_task(tx, access, item.task_id)
    run = run_by_id(tx, access, item.run_id)
    if not run_store.finish_run_end(tx, access, item.run_id) or task is None or run is None:
        return
    # A message that joined another run is answered when that one ends.
    if not run.has_joined:
        handle_end(tx, run, task, rules)
        watch(tx, run, task.id, rules)


def handle_end(tx: Tx, run: Run, task: Task, rules: Rules) -> None:
    """Distribute what a run said on its locked task and the status it set, and start an answered assignment."""
    access, reply = run.access, _reply(tx, run)
    agent = agent_by_id(tx, access, run.agent_id)
    assert agent is not None, "an agent is never deleted"
    as_agent = structs.replace(access, kind="run", actor_id=agent.id, agent_id=agent.id, run_id=run.id)
    actor = agent_actor(tx, as_agent, agent)
    told, move = run.source().type or None, _move_of(tx, run, task)
    following = [] if move is None else agents_told_of_move(tx, access, task, actor)
    if reply is None:
        store.answer_request(tx, access, task.id, run.agent_id, run_id=run.id)
    else:
        besides = frozenset(each.id for each in following)
        distribute(tx, access, actor, task, reply, rules, answers=told, besides=besides)
    if move is not None:
        notify_about(tx, access, actor, task, move.content, following, rules)
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

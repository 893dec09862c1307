"""The duty that follows plans, and this room's observers of other rooms' changes.

A run that ends holds its lane, and goals and plans are locked before tasks and lanes. So a change of a run or a task
only notes its plan; the duty locks goal, plan and tasks and applies the change in a transaction of its own.
"""

from functools import partial

from carrel.goals import store
from carrel.goals.goals import delete_goal, delete_plan
from carrel.goals.plans import hold_plan
from carrel.goals.store import PlanNote
from carrel.goals.transitions import follow_plan, note
from carrel.kernel import system_access
from carrel.kernel.limits import PLAN_NOTE_RETRY_SECONDS, PLAN_NOTES_AT_A_TIME, SESSION_GOALS_MAX
from carrel.runs import Rules, RunChanged
from carrel.sessions import LaneDeleted
from carrel.storage import Database, StepDuty, Tx
from carrel.work import TaskChanged


def plan_duty(db: Database, rules: Rules) -> StepDuty[PlanNote]:
    """Return the duty that applies the results of runs and tasks to their plans, and starts what has become ready."""
    step = partial(_follow_noted, rules=rules)
    return StepDuty(db, store.PLANS_NOTED, step, items_max=PLAN_NOTES_AT_A_TIME, retry_seconds=PLAN_NOTE_RETRY_SECONDS)


def _follow_noted(tx: Tx, item: PlanNote, rules: Rules) -> None:
    """Follow a plan, and delete its earlier notes; notes written meanwhile are for the next time."""
    access = system_access(item.account_id)
    if (plan := store.plan_by_id(tx, access, item.plan_id)) is None:
        return
    held = hold_plan(tx, access, plan)
    # Read before everything else: later reads see everything that these notes are about.
    if noted := store.notes_of_plan(tx, access, plan.id):
        follow_plan(tx, access, held, rules)
        store.delete_notes(tx, access, noted)


def observe_work(db: Database) -> None:
    """Register the observers of tasks, of their runs, and of deleted sessions."""
    db.observe(TaskChanged, _follow_task)
    db.observe(RunChanged, _follow_run)
    db.observe(LaneDeleted, _forget_session)


def _follow_task(tx: Tx, changed: TaskChanged) -> None:
    if changed.task.plan_id is not None:
        note(tx, changed.access, changed.task.plan_id)


def _follow_run(tx: Tx, changed: RunChanged) -> None:
    run = changed.run
    # A plan ignores starts of runs and runs that are queued for the first time.
    if run.task_id is None or changed.state == "running" or (changed.state == "queued" and run.started_at is None):
        return
    if (plan := store.plan_of_task(tx, run.access, run.task_id)) is not None:
        note(tx, run.access, plan.id)


def _forget_session(tx: Tx, deleted: LaneDeleted) -> None:
    """Delete the goals and plans of a deleted session. Its lane is locked already; see decision 0026."""
    access, key, rules = deleted.access, str(deleted.key), Rules()
    while goals := store.goals_of_session(tx, access, key, limit=SESSION_GOALS_MAX):
        for goal in goals:
            delete_goal(tx, access, goal.id, rules, key=deleted.key)
    while plans := store.plans_of_session(tx, access, deleted.key, limit=SESSION_GOALS_MAX):
        for plan in plans:
            delete_plan(tx, access, plan, rules)

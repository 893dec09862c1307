"""Objectives: the goals that one caller created with one agent, with their plans, tasks and runs.

The caller sees nothing else. Everybody else who may see the session of a goal sees it as a goal.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, structs

from carrel.goals import store
from carrel.goals.goals import change_goal, make_goal, replan_goal
from carrel.goals.model import PLAN_MOVES, Goal, GoalChange, Plan, PlanChange, PlannedTask, require_move
from carrel.goals.plans import add_tasks, change_plan, draft_plan, hold_plan, set_plan, set_planned_status
from carrel.goals.store import PlanPosition
from carrel.goals.transitions import note
from carrel.kernel import Access, Code, Refusal, SessionKey, clip, invalid
from carrel.kernel.limits import TASK_TITLE_CHARS_MAX
from carrel.runs import Rules, Run, RunChanged
from carrel.storage import Database, Tx
from carrel.work import Task, hold_planned, tasks_planned

# The statuses of a task while somebody works on it.
_BEGUN = ("in_progress", "review")
# What the end of a run means for its task.
_ENDS = {"completed": "done", "failed": "failed", "cancelled": "failed"}


class Objectives:
    """The objectives of a caller with an agent, in one transaction."""

    def __init__(self, tx: Tx, access: Access, agent_id: str, rules: Rules, *, plans_max: int, tasks_max: int) -> None:
        self._tx = tx
        self._access = access
        # Tasks are for people and agents: the server carries out a program's plan in its name.
        self._server = structs.replace(access.as_system(), agent_id=None, run_id=None)
        self._agent_id = agent_id
        self._rules = rules
        self._plans_max = plans_max
        self._tasks_max = tasks_max

    def find(self, goal_id: str, *, hold: bool = False) -> Goal | None:
        """Return one of the caller's objectives."""
        goal = store.goal_by_id(self._tx, self._access, goal_id, hold=hold)
        is_own = goal is not None and (goal.made_by, goal.agent_id) == (self._access.actor_id, self._agent_id)
        return goal if is_own else None

    def find_plan(self, plan_id: str, *, hold: bool = False) -> Plan | None:
        """Return a plan of one of the caller's objectives; with `hold` locked, after its objective."""
        plan = store.plan_by_id(self._tx, self._access, plan_id)
        if plan is None or plan.goal_id is None or self.find(plan.goal_id) is None:
            return None
        return hold_plan(self._tx, self._access, plan) if hold else plan

    def find_task(self, task_id: str, *, hold: bool = False) -> Task | None:
        """Return a task of a plan of one of the caller's objectives; with `hold` locked, after its plan."""
        plan = store.plan_of_task(self._tx, self._access, task_id)
        if plan is None or self.find_plan(plan.id, hold=hold) is None:
            return None
        tasks = hold_planned(self._tx, self._access, plan.id) if hold else self.tasks(plan)
        return next((task for task in tasks if task.id == task_id), None)

    def task_at(self, plan: Plan, index: int) -> Task | None:
        """Return the task at a position of a locked plan, locked."""
        return next((task for task in hold_planned(self._tx, self._access, plan.id) if task.task_index == index), None)

    def plans(self, goal: Goal) -> list[Plan]:
        """Return the plans of an objective, oldest first."""
        return store.plans_of_goal(self._tx, self._access, goal.id)

    def tasks(self, of: Goal | Plan) -> list[Task]:
        """Return the tasks of an objective or a plan, in the order of each plan."""
        named = {"goal_id": of.id} if isinstance(of, Goal) else {"plan_id": of.id}
        return sorted(tasks_planned(self._tx, self._access, **named), key=lambda task: (task.task_index or 0, task.id))

    def page(self, *, status: str | None, before: str | None, limit: int) -> tuple[list[Goal], int]:
        """Return the caller's objectives below an id, newest first, and how many there are in all."""
        whose = (self._tx, self._access, self._access.actor_id, self._agent_id)
        found = store.goals_made_by(*whose, status=status, before=before, limit=limit)
        return found, store.count_goals_made_by(*whose, status=status)

    def create(self, key: SessionKey, *, goal_id: str, name: str, description: str, metadata: dict[str, Any]) -> Goal:
        """Create an objective of a session."""
        return make_goal(
            self._tx, self._access, key, goal_id=goal_id, name=name, description=description, metadata=metadata
        )

    def change(self, goal: Goal, change: GoalChange) -> Goal:
        """Change an objective."""
        return change_goal(self._tx, self._server, goal.id, change, self._rules, key=goal.session_key)

    def replan(self, goal: Goal, reason: str) -> Goal:
        """Return an objective to planning."""
        return replan_goal(self._tx, self._server, goal.id, reason, self._rules, key=goal.session_key)

    def draft(
        self, goal: Goal, *, title: str, tasks: tuple[PlannedTask, ...], markdown: str = "",
        dependencies: tuple[str, ...] = (), metadata: dict[str, Any] | None = None,
    ) -> Plan:  # fmt: skip
        """Create a plan of an objective with its tasks, all or nothing; it can be begun."""
        key = goal.session_key
        _require_name(title)
        plan = draft_plan(
            self._tx, self._server, key, title=title, goal=goal, markdown=markdown, dependencies=dependencies,
            metadata=metadata, plans_max=self._plans_max,
        )  # fmt: skip
        return set_plan(self._tx, self._server, plan.id, key=key, tasks=tasks, tasks_max=self._tasks_max)

    def change_plan(self, plan: Plan, change: PlanChange) -> Plan:
        """Change a plan, its status by one move; moving it to working starts it."""
        if change.title is not UNSET:
            _require_name(change.title)
        if change.status is not UNSET:
            # To its caller, a plan in drafting is as pending as one that is ready.
            before = "ready" if plan.status == "drafting" else plan.status
            require_move(PLAN_MOVES, before, change.status)
        return change_plan(self._tx, self._server, plan.id, change, self._rules, key=plan.session_key)

    def add_tasks(self, plan: Plan, tasks: tuple[PlannedTask, ...]) -> Plan:
        """Add tasks to a plan, all or none."""
        add_tasks(self._tx, self._server, plan.id, tasks, key=plan.session_key, tasks_max=self._tasks_max)
        return store.plan_by_id(self._tx, self._access, plan.id) or plan

    def set_status(self, task: Task, status: str) -> tuple[Task, Plan, Goal]:
        """Move a task of a plan, and update its plan and objective at once."""
        moved, plan, goal = set_planned_status(self._tx, self._server, task.id, status, self._rules)
        assert goal is not None, "the plan of an objective has one"
        return moved, plan, goal

    def begin(self, key: SessionKey, *, goal_id: str, name: str) -> Task:
        """Create an objective with a plan of one task, and return the task; linking a run to it starts the plan."""
        goal = self.create(key, goal_id=goal_id, name=name, description="", metadata={})
        planned = PlannedTask(title=clip(name, TASK_TITLE_CHARS_MAX))
        plan = self.draft(goal, title=name, tasks=(planned,))
        return tasks_planned(self._tx, self._access, plan_id=plan.id)[0]

    def link(self, task: Task, run: Run, *, begins_plan: bool = False) -> Task:
        """Link a run of the caller to a locked task, which from then on follows the run."""
        if not store.bind_run(self._tx, self._access, run.id, task.id):
            raise Refusal(Code.CONFLICT, "This task is linked to another plan task already.")
        linked = task
        if task.status != "done" and (run.ended or task.status not in _BEGUN):
            linked = self.set_status(task, _ENDS.get(run.state, "in_progress"))[0]
        if begins_plan:
            change_plan(self._tx, self._server, task.plan_id or "", PlanChange(status="working"), self._rules)
        return linked

    def newest_runs(self, task_ids: Iterable[str]) -> dict[str, str]:
        """Return the id of the newest run of each task that has one."""
        return store.newest_runs(self._tx, self._access, self._agent_id, task_ids)

    def runs(self, task: Task, *, whole_goal: bool, limit: int) -> list[Run]:
        """Return the newest runs of all tasks of a task's plan, or of its whole objective."""
        column, value = ("goal_id", task.goal_id) if whole_goal else ("plan_id", task.plan_id)
        return store.runs_of_tasks(self._tx, self._access, self._agent_id, column, value or "", limit=limit)


def _require_name(title: str) -> None:
    if not title.strip():
        raise invalid("title", "A plan needs a name.")


def plan_positions(tx: Tx, access: Access, runs: Iterable[Run]) -> dict[str, PlanPosition]:
    """Return the places of the runs' tasks, by task, for tasks of plans."""
    return store.plan_positions(tx, access, [run.task_id for run in runs if run.task_id is not None])


def is_run_of_own_plan(tx: Tx, access: Access, run: Run) -> bool:
    """Return whether a run works on a task of an objective of this caller, in the task's own session."""
    if run.task_id is None or run.session_key.task_id != run.task_id:
        return False
    plan = store.plan_of_task(tx, access, run.task_id)
    goal = None if plan is None or plan.goal_id is None else store.goal_by_id(tx, access, plan.goal_id)
    is_own = goal is not None and (goal.made_by, goal.agent_id) == (access.actor_id, run.agent_id)
    return is_own and store.is_task_in_view(tx, access, run.task_id)


def observe_links(db: Database) -> None:
    """Register the observer of runs that were linked to a task while they were queued."""
    db.observe(RunChanged, _follow_linked)


def _follow_linked(tx: Tx, changed: RunChanged) -> None:
    """Note the plan of a run whose worker claimed it before it was linked, and so does not know its task."""
    run = changed.run
    if run.task_id is not None or run.provenance_kind != "a2a" or changed.state in ("running", "queued"):
        return
    task_id = store.task_of_run(tx, run.access, run.id)
    plan = None if task_id is None else store.plan_of_task(tx, run.access, task_id)
    if plan is not None:
        note(tx, run.access, plan.id)

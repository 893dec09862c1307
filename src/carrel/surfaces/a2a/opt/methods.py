"""OPT's methods of JSON-RPC: each reads its params and lets the room of goals do the rest, in one transaction."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from carrel.goals import Goal, GoalChange, Objectives, Plan, PlanChange, PlannedTask
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller, lane_of_context, own_run
from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.messages import check_id
from carrel.surfaces.a2a.opt import shapes
from carrel.surfaces.a2a.opt.errors import OBJECTIVE_NOT_FOUND, PLAN_NOT_FOUND, PLAN_TASK_NOT_FOUND, found, in_opt_codes
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.http.services import Services
from carrel.work import Task, task_shapes


async def perform(services: Services, caller: Caller, name: str, params: object) -> Json:
    method = METHODS[name]
    read = shapes.read_params(method.params, params)

    def work(tx: Tx) -> Json:
        return method.perform(_Call(tx, caller, objectives_of(tx, caller, services)), read)

    with in_opt_codes():
        if not method.writes:
            return await services.db.read(work)
        services.refuse_when_draining()
        return await services.db.write(work)


def objectives_of(tx: Tx, caller: Caller, services: Services) -> Objectives:
    """Return the caller's objectives with the agent that it calls."""
    limits = services.settings.a2a.opt
    return Objectives(
        tx,
        caller.access,
        caller.agent.id,
        services.rules,
        plans_max=limits.max_plans_per_objective,
        tasks_max=limits.max_tasks_per_plan,
    )


class _Call(Struct, frozen=True):
    """What a method works with: the caller's own objectives. For it, no others exist."""

    tx: Tx
    caller: Caller
    objectives: Objectives

    def goal(self, goal_id: str, *, hold: bool = False) -> Goal:
        return found(self.objectives.find(goal_id, hold=hold), OBJECTIVE_NOT_FOUND)

    def plan(self, plan_id: str, *, hold: bool = False) -> Plan:
        return found(self.objectives.find_plan(plan_id, hold=hold), PLAN_NOT_FOUND)

    def task(self, task_id: str) -> Task:
        return found(self.objectives.find_task(task_id, hold=True), PLAN_TASK_NOT_FOUND)

    def objective(self, goal: Goal, *, tasks: bool = True) -> Json:
        found_tasks = self.objectives.tasks(goal) if tasks else None
        plans = [self._shown(plan, found_tasks) for plan in self.objectives.plans(goal)]
        return shapes.objective_json(goal) | {"plans": plans}

    def shown_plan(self, plan: Plan, *, tasks: bool = True) -> Json:
        return self._shown(plan, self.objectives.tasks(plan) if tasks else None)

    def _shown(self, plan: Plan, tasks: list[Task] | None) -> Json:
        if tasks is None:
            return shapes.plan_json(plan)
        return shapes.plan_json(plan) | {"tasks": self.shown_tasks([task for task in tasks if task.plan_id == plan.id])}

    def shown_tasks(self, tasks: list[Task]) -> list[Json]:
        runs = self.objectives.newest_runs([task.id for task in tasks])
        shown = task_shapes(self.tx, self.caller.access, tasks)
        return [shapes.plan_task_json(shape, runs.get(shape.id)) for shape in shown]


def _create_objective(call: _Call, new: shapes.NewObjective) -> Json:
    check_id("contextId", new.context_id or "")
    goal_id = call.tx.new_id("goal")
    key = lane_of_context(call.caller, new.context_id or goal_id)
    goal = call.objectives.create(
        key, goal_id=goal_id, name=new.name, description=new.description or "", metadata=new.metadata or {}
    )
    return {"objective": call.objective(goal)}


def _get_objective(call: _Call, wanted: shapes.ObjectiveWanted) -> Json:
    goal = call.goal(wanted.id)
    if not wanted.include_plans:
        return {"objective": shapes.objective_json(goal)}
    return {"objective": call.objective(goal, tasks=wanted.include_tasks)}


def _list_objectives(call: _Call, wanted: shapes.ObjectivesWanted) -> Json:
    status = shapes.GOAL_STATUS.get(wanted.status, wanted.status)
    before = wanted.page_token or None
    if before and not (before.isascii() and before.replace("_", "").isalnum()):
        raise invalid_params("pageToken", "pageToken is invalid; send the nextPageToken of the page before.")
    goals, total = call.objectives.page(status=status, before=before, limit=wanted.page_size + 1)
    page = goals[: wanted.page_size]
    return {
        "objectives": [*map(shapes.objective_json, page)],
        "nextPageToken": page[-1].id if len(goals) > wanted.page_size else "",
        "totalSize": total,
    }


def _update_objective(call: _Call, update: shapes.ObjectiveUpdate) -> Json:
    goal = call.goal(update.id, hold=True)
    status = shapes.GOAL_STATUS.get(update.status, update.status)
    change = GoalChange(name=update.name, description=update.description, status=status, metadata=update.metadata)
    return {"objective": call.objective(call.objectives.change(goal, change))}


def _replan(call: _Call, wanted: shapes.Replanned) -> Json:
    goal = call.goal(wanted.id, hold=True)
    return {"objective": call.objective(call.objectives.replan(goal, wanted.reason or ""))}


def _create_plan(call: _Call, new: shapes.NewPlan) -> Json:
    goal = call.goal(new.objective_id, hold=True)
    plan = call.objectives.draft(
        goal,
        title=new.name,
        markdown=new.description or "",
        tasks=_planned(new.tasks or ()),
        dependencies=new.dependencies or (),
        metadata=new.metadata or {},
    )
    return {"plan": call.shown_plan(plan)}


def _planned(tasks: tuple[shapes.NewPlanTask, ...]) -> tuple[PlannedTask, ...]:
    return tuple(
        PlannedTask(title=task.name, description=task.description or "", dependencies=task.dependencies or ())
        for task in tasks
    )


def _get_plan(call: _Call, wanted: shapes.PlanWanted) -> Json:
    return {"plan": call.shown_plan(call.plan(wanted.id), tasks=wanted.include_tasks)}


def _update_plan(call: _Call, update: shapes.PlanUpdate) -> Json:
    plan = call.plan(update.id, hold=True)
    status = shapes.PLAN_STATUS.get(update.status, update.status)
    change = PlanChange(title=update.name, markdown=update.description, status=status, metadata=update.metadata)
    return {"plan": call.shown_plan(call.objectives.change_plan(plan, change))}


def _add_tasks(call: _Call, more: shapes.MoreTasks) -> Json:
    plan = call.plan(more.id, hold=True)
    return {"plan": call.shown_plan(call.objectives.add_tasks(plan, _planned(more.tasks)))}


def _link(call: _Call, link: shapes.Link) -> Json:
    task = call.task(link.plan_task_id)
    linked = call.objectives.link(task, own_run(call.tx, call.caller, link.a2a_task_id))
    return {"task": call.shown_tasks([linked])[0]}


def _update_status(call: _Call, update: shapes.StatusUpdate) -> Json:
    before = call.task(update.id)
    task, plan, goal = call.objectives.set_status(before, shapes.status_of_task(before, update.status))
    return {"task": call.shown_tasks([task])[0], "plan": call.shown_plan(plan), "objective": call.objective(goal)}


class _Method(Struct, frozen=True):
    params: type[shapes.Params]
    perform: Callable[[_Call, Any], Json]
    writes: bool = True


METHODS: dict[str, _Method] = {
    "objectives/create": _Method(shapes.NewObjective, _create_objective),
    "objectives/get": _Method(shapes.ObjectiveWanted, _get_objective, writes=False),
    "objectives/list": _Method(shapes.ObjectivesWanted, _list_objectives, writes=False),
    "objectives/update": _Method(shapes.ObjectiveUpdate, _update_objective),
    "objectives/replan": _Method(shapes.Replanned, _replan),
    "plans/create": _Method(shapes.NewPlan, _create_plan),
    "plans/get": _Method(shapes.PlanWanted, _get_plan, writes=False),
    "plans/update": _Method(shapes.PlanUpdate, _update_plan),
    "plans/addTasks": _Method(shapes.MoreTasks, _add_tasks),
    "tasks/link": _Method(shapes.Link, _link),
    "tasks/updateStatus": _Method(shapes.StatusUpdate, _update_status),
}

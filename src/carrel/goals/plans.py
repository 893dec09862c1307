"""Plans of sessions: drafting, setting their content, running their tasks in order, resuming and ending them."""

from typing import Any

from msgspec import UNSET, structs

from carrel.goals import store
from carrel.goals.model import PLAN_MOVES, Goal, Plan, PlanChange, PlannedTask, PlanStatus, illegal, require_move, walk
from carrel.goals.transitions import ENDED_TASKS, enter_plan, follow_goal, follow_plan, is_live, note, publish_plan
from carrel.kernel import Access, Code, Refusal, SessionKey, invalid, limits, not_found
from carrel.runs import Rules, cancel
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.topics import check_length
from carrel.visibility import may_see
from carrel.work import (
    NewTask,
    Task,
    check_metadata,
    hold_planned,
    move_planned,
    plan_tasks,
    progress_of,
    release_planned,
    start_planned,
    tasks_planned,
)

_STOPPED = "The plan was stopped."


def draft_plan(
    tx: Tx, access: Access, key: SessionKey, *, title: str = "", goal: Goal | None = None, markdown: str = "",
    dependencies: tuple[str, ...] = (), metadata: dict[str, Any] | None = None,
    plans_max: int = limits.PLANS_PER_GOAL_MAX,
) -> Plan:  # fmt: skip
    """Draft a plan of a session, for a goal or on its own."""
    if goal is not None:
        _require_room(tx, access, goal, dependencies, plans_max)
    elif dependencies:
        raise invalid("dependencies", "Only a plan of a goal depends on others.")
    _check(title, markdown, metadata)
    plan = Plan(
        id=tx.new_id("plan"),
        key=str(key),
        agent_id=key.agent,
        made_by=access.actor_id,
        goal_id=None if goal is None else goal.id,
        title=title,
        markdown=markdown,
        status="drafting",
        held=False,
        dependencies=tuple(dict.fromkeys(dependencies)),
        metadata=metadata or {},
        created_at=tx.now,
        updated_at=tx.now,
    )
    store.insert_plan(tx, access, plan)
    publish_plan(tx, access, "plan.created", plan)
    return plan


def _require_room(tx: Tx, access: Access, goal: Goal, dependencies: tuple[str, ...], plans_max: int) -> None:
    # Locked, so that two plans at once are counted one after the other.
    if (held := store.goal_by_id(tx, access, goal.id, hold=True)) is None:
        raise not_found("goal")
    if held.status in ("completed", "cancelled"):
        message = f"The goal is {held.status}; create another one, or one that goes on from it."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": held.status, "to": "planning"})
    others = {plan.id for plan in store.plans_of_goal(tx, access, goal.id)}
    if len(others) >= plans_max:
        raise Refusal(Code.LIMIT_REACHED, f"A goal has at most {plans_max} plans.")
    for other in dependencies:
        if other not in others:
            raise invalid("dependencies", f"There is no plan '{other[:80]}' of this goal.")


def _check(title: str, markdown: str, metadata: dict[str, Any] | None) -> None:
    check_length("title", title, limits.GOAL_NAME_CHARS_MAX)
    check_length("markdown", markdown, limits.PLAN_MARKDOWN_CHARS_MAX)
    check_metadata(metadata or {})


def find_plan(tx: Tx, access: Access, plan_id: str, *, key: SessionKey | None = None, hold: bool = False) -> Plan:
    """Return a visible plan of a session; with `key`, only of that session, and only if the caller may act for it.

    With `hold` it is locked, after its goal.
    """
    plan = store.plan_by_id(tx, access, plan_id)
    if plan is None or not is_found(tx, access, plan, key):
        raise not_found("plan")
    return hold_plan(tx, access, plan) if hold else plan


def is_found(tx: Tx, access: Access, item: Goal | Plan, key: SessionKey | None) -> bool:
    """Whether a goal or plan belongs to the named session; without one, whether the caller may see its session."""
    if key is not None:
        return item.key == str(key)
    lane = lane_of(tx, access, item.session_key)
    return may_see(tx, access, item.session_key, item.made_by if lane is None else lane.made_by)


def hold_plan(tx: Tx, access: Access, plan: Plan) -> Plan:
    """Lock a plan, after its goal."""
    if plan.goal_id is not None:
        store.goal_by_id(tx, access, plan.goal_id, hold=True)
    if (held := store.plan_by_id(tx, access, plan.id, hold=True)) is None:
        raise not_found("plan")
    return held


def set_plan(
    tx: Tx, access: Access, plan_id: str, *, key: SessionKey | None = None, markdown: str | None = None,
    title: str | None = None, tasks: tuple[PlannedTask, ...] | None = None, tasks_max: int = limits.PLAN_TASKS_MAX,
) -> Plan:  # fmt: skip
    """Set the content of a plan that has not begun; with text or tasks it is ready. Tasks replace the earlier ones."""
    plan = find_plan(tx, access, plan_id, key=key, hold=True)
    if plan.status not in ("drafting", "ready"):
        message = f"The plan is {plan.status}; its content can only be set before it is approved."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": plan.status, "to": "ready"})
    if markdown is not None and not markdown.strip():
        raise invalid("markdown", "A plan needs some text.")
    _check(title or "", markdown or "", None)
    text = plan.markdown if markdown is None else markdown
    named = (plan.title or _first_line(text)) if title is None else title
    status: PlanStatus = plan.status if markdown is None and tasks is None else "ready"
    ready = store.save_plan(tx, access, structs.replace(plan, markdown=text, title=named, status=status))
    if tasks is not None:
        for task in hold_planned(tx, access, plan.id):
            release_planned(tx, access, move_planned(tx, access, task, "archived", Rules()))
        _add_tasks(tx, access, ready, tasks, tasks_max)
    publish_plan(tx, access, "plan.updated", ready)
    return ready


def _first_line(markdown: str) -> str:
    return markdown.strip().partition("\n")[0].lstrip("# ").strip()[: limits.GOAL_NAME_CHARS_MAX]


def add_tasks(
    tx: Tx, access: Access, plan_id: str, new: tuple[PlannedTask, ...], *, key: SessionKey | None = None,
    tasks_max: int = limits.PLAN_TASKS_MAX,
) -> list[Task]:  # fmt: skip
    """Add tasks to a plan that has not ended, all or none; a working plan starts them."""
    plan = find_plan(tx, access, plan_id, key=key, hold=True)
    if not PLAN_MOVES[plan.status]:
        raise illegal(PLAN_MOVES, plan.status, "working")
    made = _add_tasks(tx, access, plan, new, tasks_max)
    if plan.status == "drafting":
        plan = store.save_plan(tx, access, structs.replace(plan, status="ready"))
    publish_plan(tx, access, "plan.updated", plan)
    note(tx, access, plan.id)
    return made


def _add_tasks(tx: Tx, access: Access, plan: Plan, new: tuple[PlannedTask, ...], tasks_max: int) -> list[Task]:
    if len(tasks_planned(tx, access, plan_id=plan.id)) + len(new) > tasks_max:
        raise Refusal(Code.LIMIT_REACHED, f"A plan has at most {tasks_max} tasks.", field="tasks")
    return plan_tasks(tx, access, list(map(_new_task, new)), plan_id=plan.id, goal_id=plan.goal_id)


def add_goal_task(tx: Tx, access: Access, goal: Goal, new: PlannedTask) -> Task:
    """Create a task of a goal that is in no plan."""
    return plan_tasks(tx, access, [_new_task(new)], goal_id=goal.id)[0]


def _new_task(planned: PlannedTask) -> NewTask:
    return NewTask(title=planned.title, description=planned.description, dependencies=planned.dependencies)


def approve_plan(tx: Tx, access: Access, plan_id: str, rules: Rules, *, key: SessionKey | None = None) -> Plan:
    """Run the tasks of a plan that is ready: those without dependencies start at once."""
    plan = find_plan(tx, access, plan_id, key=key, hold=True)
    if plan.status not in ("drafting", "ready"):
        message = f"Only a plan that is ready can be approved; this one is {plan.status}."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": plan.status, "to": "working"})
    if not tasks_planned(tx, access, plan_id=plan.id):
        raise Refusal(Code.ILLEGAL_TRANSITION, "A plan without tasks cannot be approved; add some first.")
    return _begin(tx, access, plan, rules)


def resume_plan(tx: Tx, access: Access, plan_id: str, rules: Rules, *, key: SessionKey | None = None) -> Plan:
    """Resume a failed or blocked plan: failed and stopped tasks start again."""
    plan = find_plan(tx, access, plan_id, key=key, hold=True)
    if plan.status not in ("failed", "blocked"):
        message = f"Only a plan that has failed or is blocked can be resumed; this one is {plan.status}."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": plan.status, "to": "working"})
    return _begin(tx, access, plan, rules)


def _begin(tx: Tx, access: Access, plan: Plan, rules: Rules) -> Plan:
    """Move a locked plan to working, and restart its blocked tasks that have no run."""
    goal = None if plan.goal_id is None else store.goal_by_id(tx, access, plan.goal_id)
    if goal is not None and goal.status == "cancelled":
        raise Refusal(Code.ILLEGAL_TRANSITION, "The plan's goal is cancelled; take that back first.")
    for step in progress_of(tx, access, hold_planned(tx, access, plan.id), plan.agent_id):
        if step.task.status == "blocked" and not is_live(step.run):
            start_planned(tx, access, step.task, plan.agent_id, plan.made_by, rules)
    working = enter_plan(tx, access, structs.replace(plan, held=False), "working")
    followed = follow_plan(tx, access, working, rules)
    _follow_goal(tx, access, plan)
    return followed


def change_plan(
    tx: Tx, access: Access, plan_id: str, change: PlanChange, rules: Rules, *, key: SessionKey | None = None
) -> Plan:  # fmt: skip
    """Change a plan. `working` starts it, `blocked` holds it until it is resumed, an end status also ends its runs."""
    plan = find_plan(tx, access, plan_id, key=key, hold=True)
    given = {name: value for name, value in structs.asdict(change).items() if value is not UNSET}
    status = given.pop("status", plan.status)
    if status not in PLAN_MOVES:
        require_move(PLAN_MOVES, plan.status, status)
    way = walk(PLAN_MOVES, plan.status, status)
    _check(given.get("title", ""), given.get("markdown", ""), given.get("metadata"))
    if any(getattr(plan, name) != value for name, value in given.items()):
        plan = store.save_plan(tx, access, structs.replace(plan, **given))
        publish_plan(tx, access, "plan.updated", plan)
    match way[-1] if way else None:
        case None:
            return plan
        case "working":
            return _begin(tx, access, plan, rules)
        case "blocked" | "ready" | "drafting" as to:
            moved = enter_plan(tx, access, structs.replace(plan, held=to == "blocked"), to)
            _follow_goal(tx, access, plan)
            return moved
        case end:
            return end_plan(tx, access, plan.id, end, rules)


def end_plan(
    tx: Tx, access: Access, plan_id: str, status: PlanStatus, rules: Rules, *, key: SessionKey | None = None
) -> Plan:  # fmt: skip
    """End a plan with the runs of its tasks. Unfinished tasks are archived; those of a failed plan can be resumed."""
    plan = find_plan(tx, access, plan_id, key=key, hold=True)
    ended = _end(tx, access, plan, status, rules)
    _follow_goal(tx, access, plan)
    return ended


def end_plan_of_goal(tx: Tx, access: Access, plan: Plan, status: PlanStatus, rules: Rules) -> Plan:
    """End a plan whose goal is locked and decides its own status."""
    held = store.plan_by_id(tx, access, plan.id, hold=True)
    return plan if held is None else _end(tx, access, held, status, rules)


def _end(tx: Tx, access: Access, plan: Plan, status: PlanStatus, rules: Rules) -> Plan:
    walk(PLAN_MOVES, plan.status, status)
    steps = progress_of(tx, access, hold_planned(tx, access, plan.id), plan.agent_id)
    for task, run in ((step.task, step.run) for step in steps if step.task.status not in ENDED_TASKS):
        if status != "failed":
            move_planned(tx, access, task, "archived", rules)
            continue
        if run is not None and run.ended_at is None and run.id != access.run_id:
            cancel(tx, access, run.id, "stopped")
        if task.status in ("in_progress", "review"):
            move_planned(tx, access, task, "blocked", rules, reason=_STOPPED, failed=True)
    return enter_plan(tx, access, structs.replace(plan, held=status == "failed"), status)


def _follow_goal(tx: Tx, access: Access, plan: Plan) -> None:
    if plan.goal_id is not None and (goal := store.goal_by_id(tx, access, plan.goal_id)) is not None:
        follow_goal(tx, access, goal)


def set_planned_status(
    tx: Tx, access: Access, task_id: str, status: str, rules: Rules
) -> tuple[Task, Plan, Goal | None]:
    """Set a plan task's status as its planner says, and update plan and goal; `failed` blocks it as failed."""
    if (planned := store.plan_of_task(tx, access, task_id)) is None:
        raise not_found("task")
    plan = find_plan(tx, access, planned.id, hold=True)
    task = next((task for task in hold_planned(tx, access, plan.id) if task.id == task_id), None)
    if task is None:
        raise not_found("task")
    to, failed = ("blocked", True) if status == "failed" else (status, False)
    moved = move_planned(tx, access, task, to, rules, failed=failed, agent_id=plan.agent_id)  # type: ignore[arg-type]
    after = follow_plan(tx, access, plan, rules)
    goal = None if plan.goal_id is None else store.goal_by_id(tx, access, plan.goal_id)
    return moved, after, goal

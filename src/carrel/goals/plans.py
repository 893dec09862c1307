"""Plans of sessions: drafting, setting their content, running their tasks in order, resuming and ending them."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from carrel.journal import append_event, json_text
from carrel.kernel import Access, Code, Refusal, SessionKey, invalid, not_found
from carrel.kernel.limits import PLAN_MARKDOWN_CHARS_MAX, PLAN_TASKS_MAX, PLANS_PER_GOAL_MAX
from carrel.runs import Rules, cancel
from carrel.sessions import lane_of, may_see
from carrel.storage import Tx
from carrel.work import notice_store
from carrel.work import store as task_store
from carrel.work.activities import publish, record
from carrel.work.assignments import assign
from carrel.work.directory import Directory
from carrel.goals import store
from carrel.goals.events import about_session
from carrel.goals.model import (
    GOAL_MOVES,
    PLAN_MOVES,
    Goal,
    Plan,
    PlannedTask,
    goal_status,
    plan_status,
    require_move,
    walk,
)
from carrel.goals.shapes import goal_shape, plan_shape
from carrel.work.model import DEFAULT_PRIORITY, DEFAULT_SPACE, Task, check_texts
from carrel.work.moves import enter_status
from carrel.work.permissions import Actor, actor_of
from carrel.work.tasks import set_dependencies

_SYSTEM = Actor(kind="system", id="system", party_id="", name="Carrel")
_INDEX = re.compile(r"task-(\d{1,4})")
# What a plan's task is while nobody has begun it.
_NOT_BEGUN = ("inbox", "assigned")
_OPEN = ("inbox", "assigned", "in_progress", "review", "blocked")


def draft_plan(
    tx: Tx, access: Access, key: SessionKey, *, title: str = "", goal: Goal | None = None, markdown: str = "",
    dependencies: tuple[str, ...] = (), metadata: dict[str, Any] | None = None, plans_max: int = PLANS_PER_GOAL_MAX,
) -> Plan:  # fmt: skip
    """Begin a plan of a session, for a goal or on its own."""
    if goal is not None:
        others = {plan.id for plan in store.plans_of_goal(tx, access, goal.id)}
        if len(others) >= plans_max:
            raise Refusal(Code.LIMIT_REACHED, f"A goal has at most {plans_max} plans.")
        for other in dependencies:
            if other not in others:
                raise invalid("dependencies", f"There is no plan '{other[:80]}' of this goal.")
    _check_markdown(markdown)
    plan = Plan(
        id=tx.new_id("plan"),
        key=str(key),
        agent_id=key.agent,
        goal_id=None if goal is None else goal.id,
        title=title,
        markdown=markdown,
        status="drafting",
        dependencies=dependencies,
        metadata=metadata or {},
        created_at=tx.now,
        updated_at=tx.now,
    )
    store.insert_plan(tx, access, plan)
    publish_plan(tx, access, "plan.created", plan)
    return plan


def find_plan(tx: Tx, access: Access, plan_id: str, *, key: SessionKey | None = None, hold: bool = False) -> Plan:
    """Return a plan of a session that the caller may see; with `key`, of that session only."""
    plan = store.plan_by_id(tx, access, plan_id, hold=hold)
    if plan is None or (key is not None and plan.key != str(key)):
        raise not_found("plan")
    lane = lane_of(tx, access, plan.session_key)
    if not may_see(tx, access, plan.session_key, "" if lane is None else lane.made_by):
        raise not_found("plan")
    return plan


def set_plan(
    tx: Tx, access: Access, plan: Plan, *, markdown: str | None = None, title: str | None = None,
    tasks: tuple[PlannedTask, ...] | None = None, tasks_max: int = PLAN_TASKS_MAX,
) -> Plan:  # fmt: skip
    """Set the content of a locked plan that was not begun; with tasks it is ready to be approved."""
    if plan.status not in ("drafting", "ready"):
        message = f"The plan is {plan.status}; its content can only be set before it is approved."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": plan.status, "to": "ready"})
    if markdown is not None:
        _check_markdown(markdown)
        if not markdown.strip():
            raise invalid("markdown", "A plan needs some text.")
    changed = structs.replace(
        plan,
        markdown=plan.markdown if markdown is None else markdown,
        title=_title(plan, markdown) if title is None else title,
        status="ready" if markdown is not None or tasks is not None else plan.status,
    )
    changed = store.save_plan(tx, access, changed)
    if tasks is not None:
        _remove_tasks(tx, access, plan)
        add_tasks(tx, access, changed, tasks, tasks_max=tasks_max)
    publish_plan(tx, access, "plan.updated", changed)
    return changed


def _title(plan: Plan, markdown: str | None) -> str:
    first = (markdown or "").strip().partition("\n")[0].lstrip("# ").strip()
    return plan.title or first[:200]


def _check_markdown(markdown: str) -> None:
    if len(markdown) > PLAN_MARKDOWN_CHARS_MAX:
        message = f"A plan has at most {PLAN_MARKDOWN_CHARS_MAX} characters."
        raise Refusal(Code.TOO_LONG, message, field="markdown")


def _remove_tasks(tx: Tx, access: Access, plan: Plan) -> None:
    """Archive the tasks of an earlier version of a plan; none of them was begun."""
    for task in store.tasks_of_plan(tx, access, plan.id):
        held = task_store.hold_task(tx, access, task.id)
        if held is not None and held.status != "archived":
            gone = task_store.save_task(
                tx, access, structs.replace(held, status="archived", archived_at=tx.now, plan_id=None, status_at=tx.now)
            )
            publish(tx, access, "task.deleted", gone)


def add_tasks(
    tx: Tx, access: Access, plan: Plan, new: tuple[PlannedTask, ...], *, tasks_max: int = PLAN_TASKS_MAX
) -> list[Task]:  # fmt: skip
    """Add tasks to a plan, all or none; a dependency may name another of the list by `task-<n>`."""
    actor, present = actor_of(tx, access), store.tasks_of_plan(tx, access, plan.id)
    if len(present) + len(new) > tasks_max:
        raise Refusal(Code.LIMIT_REACHED, f"A plan has at most {tasks_max} tasks.", field="tasks")
    made = [_make(tx, access, actor, plan, one, len(present) + at) for at, one in enumerate(new)]
    for task, one in zip(made, new, strict=True):
        named = tuple(_dependency(other, made) for other in one.dependencies)
        set_dependencies(tx, access, task, named)
    return made


def _make(tx: Tx, access: Access, actor: Actor, plan: Plan, new: PlannedTask, index: int) -> Task:
    check_texts(new.title, new.description, None, ())
    task = Task(
        id=tx.new_id("task"),
        seq=tx.tick(),
        space_id=DEFAULT_SPACE,
        goal_id=plan.goal_id,
        plan_id=plan.id,
        task_index=index,
        title=new.title,
        description=new.description,
        status="inbox",
        priority=DEFAULT_PRIORITY,
        tags=(),
        sort_index=task_store.highest_sort_index(tx, access) + 1,
        metadata={},
        created_by="agent" if actor.kind == "agent" else "user",
        created_at=tx.now,
        updated_at=tx.now,
        status_at=tx.now,
    )
    task_store.insert_task(tx, access, task)
    record(tx, access, actor, task, "created", f"{actor.name} planned the task.", planId=plan.id)
    publish(tx, access, "task.created", task)
    return task


def _dependency(named: str, made: list[Task]) -> str:
    found = _INDEX.fullmatch(named)
    if found is None:
        return named
    index = int(found[1])
    if index >= len(made):
        raise invalid("dependencies", f"'{named}' is not one of the {len(made)} tasks; the first is task-0.")
    return made[index].id


def approve_plan(tx: Tx, access: Access, plan: Plan, rules: Rules) -> Plan:
    """Run the tasks of a locked plan that is ready: those that depend on nothing begin at once."""
    if not store.tasks_of_plan(tx, access, plan.id):
        raise Refusal(Code.ILLEGAL_TRANSITION, "A plan without tasks cannot be approved; add some first.")
    if plan.status != "ready":
        message = f"Only a plan that is ready can be approved; this one is {plan.status}."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": plan.status, "to": "working"})
    return begin_plan(tx, access, plan, rules)


def resume_plan(tx: Tx, access: Access, plan: Plan, rules: Rules) -> Plan:
    """Go on with a locked plan that failed or is blocked: what failed is begun again."""
    if plan.status not in ("failed", "blocked"):
        message = f"Only a plan that has failed or is blocked can be resumed; this one is {plan.status}."
        raise Refusal(Code.ILLEGAL_TRANSITION, message, details={"from": plan.status, "to": "working"})
    for task in store.tasks_of_plan(tx, access, plan.id):
        held = task_store.hold_task(tx, access, task.id)
        if held is not None and held.status == "blocked":
            metadata = {name: value for name, value in held.metadata.items() if name != "failed"}
            kept = structs.replace(held, metadata=metadata)
            enter_status(tx, access, actor_of(tx, access), kept, "assigned", rules, quiet=True)
    return begin_plan(tx, access, plan, rules)


def begin_plan(tx: Tx, access: Access, plan: Plan, rules: Rules) -> Plan:
    """Move a locked plan to working and begin every task that can be begun."""
    working = _move(tx, access, plan, "working")
    _start_ready(tx, access, working, rules)
    if working.goal_id is not None:
        _follow_goal(tx, access, working.goal_id)
    return working


def _start_ready(tx: Tx, access: Access, plan: Plan, rules: Rules) -> None:
    """Give the plan's agent every task whose dependencies are done; each runs in a lane of its own."""
    if any(other.status != "completed" for other in _awaited(tx, access, plan)):
        return
    tasks = store.tasks_of_plan(tx, access, plan.id)
    needs = task_store.dependencies_of(tx, access, [task.id for task in tasks])
    done = {task.id for task in tasks if task.status == "done"}
    outside = {other for each in needs.values() for other in each} - {task.id for task in tasks}
    done |= {task.id for task in task_store.tasks_by_id(tx, access, outside) if task.status == "done"}
    directory = Directory(tx, access)
    for task in tasks:
        if task.status in _NOT_BEGUN and set(needs.get(task.id, [])) <= done:
            held = task_store.hold_task(tx, access, task.id)
            if held is not None and held.status in _NOT_BEGUN:
                _start(tx, access, plan, held, directory, rules)


def _awaited(tx: Tx, access: Access, plan: Plan) -> list[Plan]:
    found = (store.plan_by_id(tx, access, other) for other in plan.dependencies)
    return [other for other in found if other is not None and other.status != "skipped"]


def _start(tx: Tx, access: Access, plan: Plan, task: Task, directory: Directory, rules: Rules) -> None:
    if task.status == "assigned":
        # It was given to the agent before, and is begun again.
        task_store.set_assigned(tx, access, task.id, "agent", plan.agent_id, None)
    assign(tx, access, _SYSTEM, task, [("agent", plan.agent_id)], directory, rules)


def end_plan(tx: Tx, access: Access, plan: Plan, status: str, rules: Rules) -> Plan:
    """End a plan that was not ended, with the runs of its tasks; what was not finished is archived."""
    held = store.plan_by_id(tx, access, plan.id, hold=True)
    if held is None or not PLAN_MOVES[held.status] or held.status == "failed":
        return plan
    require_move(PLAN_MOVES, held.status, status)
    ended = _move(tx, access, held, status)
    for task in store.tasks_of_plan(tx, access, plan.id):
        if task.status not in _OPEN:
            continue
        kept = task_store.hold_task(tx, access, task.id)
        for run in notice_store.live_runs_of_task(tx, access, task.id):
            cancel(tx, access, run.id, "stopped")
        if kept is not None and kept.status in _OPEN:
            enter_status(tx, access, _SYSTEM, kept, "archived", rules, quiet=True)
    return ended


def _move(tx: Tx, access: Access, plan: Plan, after: str) -> Plan:
    if plan.status == after:
        return plan
    moved = store.save_plan(tx, access, structs.replace(plan, status=after))
    publish_plan(tx, access, "plan.updated", moved)
    return moved


def follow_task(tx: Tx, access: Access, task: Task, rules: Rules) -> None:
    """Let a change of a task take effect on its plan and goal, and begin what has become ready."""
    if task.plan_id is None:
        return
    plan = store.plan_by_id(tx, access, task.plan_id, hold=True)
    if plan is None:
        return
    tasks = store.tasks_of_plan(tx, access, plan.id)
    waits = any(run.state == "waiting" for one in tasks for run in notice_store.live_runs_of_task(tx, access, one.id))
    wanted = plan_status(plan, _seen(tasks), waits=waits)
    for step in walk(PLAN_MOVES, plan.status, wanted):
        plan = _move(tx, access, plan, step)
    if plan.status == "working":
        _start_ready(tx, access, plan, rules)
    if plan.goal_id is not None:
        _follow_goal(tx, access, plan.goal_id)
        _begin_waiting_plans(tx, access, plan, rules)


def _seen(tasks: Iterable[Task]) -> list[tuple[str, bool]]:
    return [(task.status, task.metadata.get("failed") is True and task.status == "blocked") for task in tasks]


def _begin_waiting_plans(tx: Tx, access: Access, plan: Plan, rules: Rules) -> None:
    """Begin tasks of plans that are working and waited for this one."""
    if plan.status not in ("completed", "skipped"):
        return
    for other in store.plans_of_goal(tx, access, plan.goal_id or ""):
        if plan.id in other.dependencies and other.status == "working":
            _start_ready(tx, access, other, rules)


def _follow_goal(tx: Tx, access: Access, goal_id: str) -> None:
    goal = store.goal_by_id(tx, access, goal_id, hold=True)
    if goal is None:
        return
    wanted = goal_status(goal, [plan.status for plan in store.plans_of_goal(tx, access, goal_id)])
    for step in walk(GOAL_MOVES, goal.status, wanted):
        goal = store.save_goal(tx, access, structs.replace(goal, status=step))
        body = json_text({"goal": goal_shape(tx, access, goal)})
        append_event(tx, access, "goal.updated", about_session(goal.session_key), body)


def publish_plan(tx: Tx, access: Access, name: str, plan: Plan) -> None:
    """Publish a change of a plan on the feed."""
    body = json_text({"plan": plan_shape(tx, access, plan)})
    append_event(tx, access, name, about_session(plan.session_key), body)

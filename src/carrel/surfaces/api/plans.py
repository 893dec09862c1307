"""Plan mode and the plans of a session. Whatever names a session acts on that session alone."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from carrel.goals import Plan, PlannedTask, PlanShape, find_plan, plan_shape, set_plan
from carrel.kernel import PEOPLE, Access, SessionKey
from carrel.kernel.limits import GOAL_NAME_CHARS_MAX, NAME_CHARS_MAX, PLAN_MARKDOWN_CHARS_MAX, PLAN_TASKS_MAX
from carrel.modes import (
    PlanStateShape,
    approve_session_plan,
    cancel_session_plan,
    disable_plan_mode,
    enable_plan_mode,
    plan_state,
    plan_state_shape,
    resume_session_plan,
)
from carrel.runs import Rules
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, endpoint
from carrel.surfaces.api.session_ids import SessionId, refused_by_name, required
from carrel.surfaces.api.tasks.bodies import Dependencies, Description, Title
from carrel.surfaces.http.described import NO_NUL, SOME_TEXT

# The room below checks all of these, with codes and sentences of its own; the document says what it accepts.
Markdown = Annotated[str, Meta(extra_json_schema={"maxLength": PLAN_MARKDOWN_CHARS_MAX, "pattern": SOME_TEXT})]
PlanTitle = Annotated[str, Meta(max_length=GOAL_NAME_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})]
# Changes the plan of a session that is named; where none is, it chooses one.
Change = Callable[[Tx, Access, SessionKey, str | None, Rules], Plan]


class OfSession(In, frozen=True, kw_only=True):
    """Which session."""

    session_id: SessionId | None = None


class ModeBody(OfSession, frozen=True, kw_only=True):
    """Which session; `clientInstanceId` may name the browser or chat that asks, and changes nothing."""

    client_instance_id: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] | None = None


class TaskOfPlan(In, frozen=True, kw_only=True):
    """A task of a plan; a dependency is the id of a task, or `task-<n>` for one of this list, from task-0 on."""

    title: Title
    description: Description = ""
    dependencies: Dependencies = ()


class PlanBody(OfSession, frozen=True, kw_only=True):
    """The content of a plan; what is left out stays as it is. Tasks replace those that were set before."""

    markdown: Markdown | None = None
    title: PlanTitle | None = None
    tasks: Annotated[tuple[TaskOfPlan, ...], Meta(extra_json_schema={"maxItems": PLAN_TASKS_MAX})] | None = None


class OnePlan(Out, frozen=True, kw_only=True):
    """One plan."""

    plan: PlanShape


@endpoint("GET", "/api/plans", answers={200: PlanStateShape}, query=OfSession)
async def show_plans(call: Call[None, OfSession]) -> PlanStateShape:
    """Get the plan mode of a session, and its newest plans."""
    reference = required(call.query.session_id)

    def work(tx: Tx, access: Access) -> PlanStateShape:
        return plan_state_shape(tx, access, plan_state(tx, access, _session(tx, access, reference)))

    return await call.read(work)


@endpoint("POST", "/api/plans/enable", answers={200: PlanStateShape}, who=PEOPLE, body=ModeBody)
async def enable(call: Call[ModeBody, NoQuery]) -> PlanStateShape:
    """Switch plan mode on in a session; one that is in plan mode stays as it is."""
    reference = required(call.body.session_id)

    def work(tx: Tx, access: Access) -> PlanStateShape:
        return plan_state_shape(tx, access, enable_plan_mode(tx, access, _session(tx, access, reference)))

    return await call.write(work)


@endpoint("POST", "/api/plans/disable", answers={200: PlanStateShape}, who=PEOPLE, body=ModeBody)
async def disable(call: Call[ModeBody, NoQuery]) -> PlanStateShape:
    """Switch plan mode off in a session, and cancel a plan that is still being written."""
    reference = required(call.body.session_id)

    def work(tx: Tx, access: Access) -> PlanStateShape:
        state = disable_plan_mode(tx, access, _session(tx, access, reference), call.house.rules)
        return plan_state_shape(tx, access, state)

    return await call.write(work)


@endpoint("GET", "/api/plans/{id}", answers={200: OnePlan}, query=OfSession)
async def show_plan(call: Call[None, OfSession]) -> OnePlan:
    """Get a plan of a session, with its tasks."""
    reference = required(call.query.session_id)

    def work(tx: Tx, access: Access) -> OnePlan:
        key = _session(tx, access, reference)
        return _one(tx, access, find_plan(tx, access, call.path("id"), key=key))

    return await call.read(work)


@endpoint("PUT", "/api/plans/{id}", answers={200: OnePlan}, who=PEOPLE, body=PlanBody, tool="plan_set_content")
async def write(call: Call[PlanBody, NoQuery]) -> OnePlan:
    """Set the content of a plan that was not approved yet."""
    body, reference = call.body, required(call.body.session_id)
    tasks = None if body.tasks is None else tuple(_planned(task) for task in body.tasks)

    def work(tx: Tx, access: Access) -> OnePlan:
        key = _session(tx, access, reference)
        plan_id = call.path("id")
        plan = set_plan(tx, access, plan_id, key=key, markdown=body.markdown, title=body.title, tasks=tasks)
        return _one(tx, access, plan)

    return await call.write(work)


@endpoint("POST", "/api/plans/{id}/approve", answers={200: OnePlan}, who=PEOPLE, body=OfSession)
async def approve_one(call: Call[OfSession, NoQuery]) -> OnePlan:
    """Approve a plan that is ready: its tasks begin, in their order; a session that worked on it leaves plan mode."""
    call.house.refuse_when_draining()
    return await _change(call, approve_session_plan)


@endpoint("POST", "/api/plans/{id}/cancel", answers={200: OnePlan}, who=PEOPLE, body=OfSession)
async def cancel_one(call: Call[OfSession, NoQuery]) -> OnePlan:
    """Cancel a plan, with the runs of its tasks."""
    return await _change(call, cancel_session_plan)


@endpoint("POST", "/api/plans/{id}/resume", answers={200: OnePlan}, who=PEOPLE, body=OfSession)
async def resume_one(call: Call[OfSession, NoQuery]) -> OnePlan:
    """Go on with a plan that failed or is blocked: what failed begins again."""
    call.house.refuse_when_draining()
    return await _change(call, resume_session_plan)


async def _change(call: Call[OfSession, NoQuery], change: Change) -> OnePlan:
    reference = required(call.body.session_id)

    def work(tx: Tx, access: Access) -> OnePlan:
        key = _session(tx, access, reference)
        return _one(tx, access, change(tx, access, key, call.path("id"), call.house.rules))

    return await call.write(work)


def _planned(task: TaskOfPlan) -> PlannedTask:
    return PlannedTask(title=task.title, description=task.description, dependencies=task.dependencies)


def _one(tx: Tx, access: Access, plan: Plan) -> OnePlan:
    return OnePlan(plan=plan_shape(tx, access, plan))


def _session(tx: Tx, access: Access, reference: str) -> SessionKey:
    with refused_by_name():
        return find_session(tx, access, reference).key

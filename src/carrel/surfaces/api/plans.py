"""Plan mode and the plans of a session. A request that names a session acts on that session alone."""

from collections.abc import Callable

from msgspec import structs

from carrel import modes
from carrel.goals import Plan, PlanContent, PlanShape, find_plan, plan_shape, set_plan
from carrel.kernel import PEOPLE, Access, SessionKey
from carrel.kernel.fields import ShortText
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.session_ids import OfSession, SessionId, required, session_named

# Changes the named plan of a session, or chooses one if none is named.
Change = Callable[[Tx, Access, SessionKey, str | None, Rules], Plan]


class ModeBody(OfSession, frozen=True, kw_only=True):
    """Which session; `clientInstanceId` may name the browser or chat that asks, and changes nothing."""

    client_instance_id: ShortText | None = None


class PlanBody(PlanContent, frozen=True, kw_only=True):
    """The content of a plan; what is left out stays as it is. Tasks replace those that were set before."""

    session_id: SessionId | None = None


@endpoint("GET", "/api/plans", tool="plan_get")
def show_plans(call: Call[None, OfSession], tx: Tx, access: Access) -> modes.PlanStateShape:
    """Get the plan mode of a session, and its newest plans."""
    key = call.query.required_key(tx, access)
    return modes.plan_state_shape(tx, access, modes.plan_state(tx, access, key))


@endpoint("POST", "/api/plans/enable", who=PEOPLE)
def enable(call: Call[ModeBody, NoQuery], tx: Tx, access: Access) -> modes.PlanStateShape:
    """Switch plan mode on in a session; one that is in plan mode stays as it is."""
    key = call.body.required_key(tx, access)
    return modes.plan_state_shape(tx, access, modes.enable_plan_mode(tx, access, key))


@endpoint("POST", "/api/plans/disable", who=PEOPLE)
def disable(call: Call[ModeBody, NoQuery], tx: Tx, access: Access) -> modes.PlanStateShape:
    """Switch plan mode off in a session, and cancel a plan that is still being written."""
    key = call.body.required_key(tx, access)
    return modes.plan_state_shape(tx, access, modes.disable_plan_mode(tx, access, key, call.services.rules))


@endpoint("GET", "/api/plans/{id}", "plan", tool="plan_get")
def show_plan(call: Call[None, OfSession], tx: Tx, access: Access) -> PlanShape:
    """Get a plan of a session, with its tasks."""
    key = call.query.required_key(tx, access)
    return plan_shape(tx, access, find_plan(tx, access, call.path("id"), key=key))


@endpoint("PUT", "/api/plans/{id}", "plan", who=PEOPLE, tool="plan_set_content")
def write(call: Call[PlanBody, NoQuery], tx: Tx, access: Access) -> PlanShape:
    """Set the content of a plan that was not approved yet."""
    content = structs.asdict(call.body)
    key = session_named(tx, access, required(content.pop("session_id")))
    return plan_shape(tx, access, set_plan(tx, access, call.path("id"), key=key, **content))


@endpoint("POST", "/api/plans/{id}/approve", "plan", who=PEOPLE, new_work=True)
def approve_one(call: Call[OfSession, NoQuery], tx: Tx, access: Access) -> PlanShape:
    """Approve a plan that is ready: its tasks begin, in their order; a session that worked on it leaves plan mode."""
    return _change(call, tx, access, modes.approve_session_plan)


@endpoint("POST", "/api/plans/{id}/cancel", "plan", who=PEOPLE)
def cancel_one(call: Call[OfSession, NoQuery], tx: Tx, access: Access) -> PlanShape:
    """Cancel a plan, with the runs of its tasks."""
    return _change(call, tx, access, modes.cancel_session_plan)


@endpoint("POST", "/api/plans/{id}/resume", "plan", who=PEOPLE, new_work=True)
def resume_one(call: Call[OfSession, NoQuery], tx: Tx, access: Access) -> PlanShape:
    """Go on with a plan that failed or is blocked: what failed begins again."""
    return _change(call, tx, access, modes.resume_session_plan)


def _change(call: Call[OfSession, NoQuery], tx: Tx, access: Access, change: Change) -> PlanShape:
    key = call.body.required_key(tx, access)
    return plan_shape(tx, access, change(tx, access, key, call.path("id"), call.services.rules))

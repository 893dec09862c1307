"""The state of plan mode as every surface shows it."""

from collections.abc import Iterable

from carrel.chats import is_pointed_to
from carrel.goals import Plan, PlanShape, plan_shape, plans_of_session
from carrel.kernel import Access, Shape
from carrel.modes.plan.store import PlanState
from carrel.storage import Tx


class SessionIdentity(Shape, frozen=True, kw_only=True):
    """The two parts that identify a session besides its agent."""

    channel_type: str
    conversation_key: str


class PlanStateShape(Shape, frozen=True, kw_only=True):
    """The plan mode of a session, and its newest plans; the session is active if a chat or browser points to it."""

    session_id: str
    session_identity: SessionIdentity
    session_key: str
    session_active: bool
    enabled: bool
    active_plan_id: str | None
    updated_at: str | None
    plans: list[PlanShape]


def plan_state_shape(tx: Tx, access: Access, state: PlanState) -> PlanStateShape:
    """Return the state of a session with its newest plans, newest first."""
    return shape_with(tx, access, state, plans_of_session(tx, access, state.session_key))


def shape_with(tx: Tx, access: Access, state: PlanState, plans: Iterable[Plan]) -> PlanStateShape:
    key = state.session_key
    channel, conversation = key.identity
    return PlanStateShape.of(
        state,
        session_id=key.conversation,
        session_identity=SessionIdentity(channel_type=channel, conversation_key=conversation),
        session_key=state.key,
        session_active=is_pointed_to(tx, access, key),
        plans=[plan_shape(tx, access, plan) for plan in plans],
    )

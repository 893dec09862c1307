"""Switching plan mode on and off in one session, writing its plan, and which tools it may use meanwhile.

Locks: a plan is locked before the lane, and the row of plan mode is written last.
"""

from collections.abc import Collection
from fnmatch import fnmatchcase
from logging import getLogger
from typing import Final

from msgspec import structs

from carrel.goals import (
    Plan,
    PlannedTask,
    approve_plan,
    draft_plan,
    end_plan,
    find_plan,
    plans_of_session,
    resume_plan,
    set_plan,
)
from carrel.journal import about_lane, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, Sample, SessionKey, not_found
from carrel.modes.lanes import ensure_lane
from carrel.modes.plan import store
from carrel.modes.plan.shapes import shape_with
from carrel.modes.plan.store import PlanState
from carrel.runs import Rules
from carrel.sessions import lock_lane
from carrel.storage import Tx

_log = getLogger("carrel.modes")
# The tool that writes the plan; it is only offered in plan mode.
SET_PLAN: Final = "plan_set_content"
# Tools that may be used in plan mode, beside those that only read.
_FOR_PLANNING = (SET_PLAN, "goal_*", "request_input")
PLANNING: Final = (
    "this session is in plan mode, where you may only look and plan. Write what you would do with plan_set_content; it "
    "is done once a person approves the plan or leaves plan mode."
)
NOT_PLANNING: Final = "this session is not in plan mode, which a person switches on, for example with /plan on."
# The content of these plans can still be set; any other is replaced by the next one written.
_OPEN = ("drafting", "ready")
_UNDER_WAY = ("working", "blocked")
# The plan statuses that a change applies to if no plan is named.
_FITTING = {"approve": ("ready",), "cancel": (*_OPEN, *_UNDER_WAY), "resume": ("failed", "blocked")}
# How often a state that others change concurrently is read again.
_ATTEMPTS_MAX = 5


def plan_state(tx: Tx, access: Access, key: SessionKey) -> PlanState:
    """Return the plan mode of a session."""
    return store.state_of(tx, access, str(key)) or PlanState(key=str(key))


def is_planning(tx: Tx, access: Access, key: SessionKey) -> bool:
    """Whether a session is in plan mode now."""
    return plan_state(tx, access, key).enabled


def active_plan(
    tx: Tx, access: Access, state: PlanState, statuses: Collection[str] | None = None, *, hold: bool = False
) -> Plan | None:  # fmt: skip
    """Return the active plan; None if there is none, or it has another status."""
    if state.active_plan_id is None:
        return None
    plan = find_plan(tx, access, state.active_plan_id, key=state.session_key, hold=hold)
    return plan if statuses is None or plan.status in statuses else None


def is_hidden_while_planning(name: str, effect: str, server: str | None) -> bool:
    """Return whether plan mode hides a tool: one that writes, of ours or of an MCP server."""
    # A server's tool may have a name that begins like one of ours.
    return effect == "write" and (server is not None or not any(fnmatchcase(name, each) for each in _FOR_PLANNING))


def enable_plan_mode(tx: Tx, access: Access, key: SessionKey) -> PlanState:
    """Switch plan mode on, and begin a plan unless the session has an open one; does nothing if it is on."""
    # Locked, so that deleting the session at the same time leaves no plan mode behind.
    ensure_lane(tx, access, key)
    if lock_lane(tx, access, str(key)) is None:
        raise not_found("session")
    if not store.switch_on(tx, access, str(key)):
        return plan_state(tx, access, key)
    if active_plan(tx, access, plan_state(tx, access, key), (*_OPEN, *_UNDER_WAY)) is None:
        store.set_active_plan(tx, access, str(key), draft_plan(tx, access, key).id)
    state = plan_state(tx, access, key)
    channel, conversation = key.identity
    METRICS.count("plan.mode.enabled.count", access.account_id, channel=channel, session=conversation)
    _tell(tx, access, "enabled", state)
    return state


def disable_plan_mode(tx: Tx, access: Access, key: SessionKey, rules: Rules) -> PlanState:
    """Switch plan mode off and cancel a plan that is still being written; does nothing if it is off."""
    for _ in range(_ATTEMPTS_MAX):
        state = plan_state(tx, access, key)
        if not state.enabled:
            return state
        unwritten = active_plan(tx, access, state, ("drafting",), hold=True)
        after = state
        if unwritten is not None:
            end_plan(tx, access, unwritten.id, "cancelled", rules, key=key)
            after = structs.replace(state, active_plan_id=None)
        if _switch_off(tx, access, state, after):
            return plan_state(tx, access, key)
    raise Refusal(Code.CONFLICT, "Plan mode of this session is being changed by others; try again.")


def is_unwritten(tx: Tx, access: Access, state: PlanState) -> bool:
    """Whether a session works on a plan that has no content yet."""
    return active_plan(tx, access, state, ("drafting",)) is not None


def plan_gauges(tx: Tx, access: Access) -> list[Sample]:
    """Return how many sessions of the account are in plan mode, as a metric."""
    return [Sample("plan.mode.active.sessions", "gauge", (), store.count_planning(tx, access), access.account_id)]


def hold_open_plan(tx: Tx, access: Access, key: SessionKey) -> None:
    """Lock the plan that `write_plan` will write, if lanes and runs are locked before it is called."""
    active_plan(tx, access, plan_state(tx, access, key), _OPEN, hold=True)


def write_plan(
    tx: Tx, access: Access, key: SessionKey, *, markdown: str, title: str | None = None,
    tasks: tuple[PlannedTask, ...] | None = None,
) -> Plan:  # fmt: skip
    """Write the plan of a session in plan mode, which makes it ready for approval; a plan under way is replaced."""
    plan = active_plan(tx, access, plan_state(tx, access, key), _OPEN, hold=True) or draft_plan(tx, access, key)
    written = set_plan(tx, access, plan.id, key=key, markdown=markdown, title=title, tasks=tasks)
    # Plan mode was switched off since it was read: then the new plan must not stay either.
    if not store.set_active_plan(tx, access, str(key), written.id):
        why = "This session is not in plan mode; a person switches it on, for example with /plan on."
        raise Refusal(Code.TOOL_NOT_ALLOWED, why)
    return written


def choose_plan(tx: Tx, access: Access, key: SessionKey, change: str, plan_id: str | None) -> Plan:
    """Return, locked, the named plan, else the active one if the change fits, else the newest that fits."""
    if plan_id is None:
        fitting, active = _FITTING[change], plan_state(tx, access, key).active_plan_id
        newest = (plan for plan in plans_of_session(tx, access, key) if plan.status in fitting)
        found = sorted(newest, key=lambda plan: plan.id != active)
        if not found:
            raise Refusal(Code.NOT_FOUND, f"This session has no plan that is {' or '.join(fitting)}.", field="planId")
        plan_id = found[0].id
    return find_plan(tx, access, plan_id, key=key, hold=True)


def approve_session_plan(tx: Tx, access: Access, key: SessionKey, plan_id: str | None, rules: Rules) -> Plan:
    """Approve a plan of a session, which starts its tasks; if it is the active plan, plan mode ends."""
    plan = approve_plan(tx, access, choose_plan(tx, access, key, "approve", plan_id).id, rules, key=key)
    state = plan_state(tx, access, key)
    if state.active_plan_id == plan.id and state.enabled:
        _switch_off(tx, access, state, state)
    return plan


def cancel_session_plan(tx: Tx, access: Access, key: SessionKey, plan_id: str | None, rules: Rules) -> Plan:
    """Cancel a plan of a session, with the runs of its tasks."""
    plan = end_plan(tx, access, choose_plan(tx, access, key, "cancel", plan_id).id, "cancelled", rules, key=key)
    state = plan_state(tx, access, key)
    if state.active_plan_id == plan.id:
        store.replace_state(tx, access, state, structs.replace(state, active_plan_id=None, updated_at=tx.now))
    return plan


def resume_session_plan(tx: Tx, access: Access, key: SessionKey, plan_id: str | None, rules: Rules) -> Plan:
    """Resume a failed or blocked plan of a session."""
    return resume_plan(tx, access, choose_plan(tx, access, key, "resume", plan_id).id, rules, key=key)


def _switch_off(tx: Tx, access: Access, before: PlanState, after: PlanState) -> bool:
    off = structs.replace(after, enabled=False, updated_at=tx.now)
    done = store.replace_state(tx, access, before, off)
    if done:
        _tell(tx, access, "disabled", off)
    return done


def _tell(tx: Tx, access: Access, change: str, state: PlanState) -> None:
    """Publish a change on the feed, with only the active plan: readers can ask for the others."""
    key = state.session_key
    plan = active_plan(tx, access, state)
    shown = shape_with(tx, access, state, () if plan is None else (plan,))
    append_event(tx, access, f"plan_mode.{change}", about_lane(key), json_text({"planState": shown}))
    named = {"account_id": access.account_id, "actor": access.actor_id, "agent_id": key.agent, "session_key": str(key)}
    more = {"session_identity": ":".join(key.identity), "plan_id": state.active_plan_id or ""}
    _log.info("plan_mode_%s", change, extra=named | more)

"""Callers: where a tool call is made from, and what is visible from there."""

from msgspec import structs

from carrel.agents import Agent
from carrel.kernel import Access, SessionKey, ToolVisibility
from carrel.modes import is_planning
from carrel.runs import Run
from carrel.sessions import Lane, Session
from carrel.storage import Tx
from carrel.tools.model import Caller, ToolServices
from carrel.visibility import visibility_of
from carrel.work import actor_of


def caller_again(tx: Tx, caller: Caller, run: Run) -> Caller:
    """Return the caller of a run as it is now; its run and plan mode may have changed during the turn."""
    return structs.replace(caller, run=run, is_planning=is_planning(tx, caller.access, caller.key))


def caller_at(
    tx: Tx, services: ToolServices, access: Access, agent: Agent, at: Lane | SessionKey, *, run: Run | None = None,
    session: Session | None = None,
) -> Caller:  # fmt: skip
    """Return the caller for an agent in one of its lanes, or at the key of a lane that may not exist yet."""
    key = at.session_key if isinstance(at, Lane) else at
    sandboxed = agent.profile.sandbox == "on" or (isinstance(at, Lane) and bool(at.sandboxed))
    tools, sandbox = services.settings.tools, services.settings.agents.defaults.sandbox
    if access.is_person:
        visibility = ToolVisibility(mode="all", key=key, rule="a person sees the whole account", whole_account=True)
    else:
        visibility = visibility_of(agent, key, sandboxed=sandboxed, tools=tools, sandbox=sandbox)
        access = structs.replace(access, space_ids=access.narrowed(agent.profile.space_ids))
    return Caller(
        access=access, actor=actor_of(tx, access, run), agent=agent, key=key, visibility=visibility, services=services,
        sandboxed=sandboxed, is_planning=is_planning(tx, access, key), run=run, session=session,
    )  # fmt: skip

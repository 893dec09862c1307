"""Desks: from where a call is made, with the visibility that comes with it."""

from carrel.agents import Agent
from carrel.kernel import Access, SessionKey
from carrel.runs import Run
from carrel.sessions import Lane, Session, full_visibility, visibility_of
from carrel.tools.model import Caller, Surroundings


def run_caller(
    house: Surroundings, access: Access, agent: Agent, lane: Lane, run: Run | None, session: Session | None
) -> Caller:
    """The caller of an agent at one of its lanes, within a run or outside of one."""
    sandboxed = bool(lane.sandboxed)
    return caller_at(house, access, agent, lane.session_key, sandboxed=sandboxed, run=run, session=session)


def caller_at(
    house: Surroundings,
    access: Access,
    agent: Agent,
    key: SessionKey,
    *,
    sandboxed: bool,
    run: Run | None = None,
    session: Session | None = None,
) -> Caller:
    """The caller of an agent at a key whose lane may not have been made yet; `sandboxed` is what the lane says."""
    sandboxed = sandboxed or agent.profile.sandbox == "on"
    tools, sandbox = house.settings.tools, house.settings.agents.defaults.sandbox
    visibility = (
        full_visibility(key)
        if access.is_person
        else visibility_of(agent, key, sandboxed=sandboxed, tools=tools, sandbox=sandbox)
    )
    return Caller(
        access=access, agent=agent, key=key, visibility=visibility, house=house, sandboxed=sandboxed, run=run,
        session=session,
    )  # fmt: skip

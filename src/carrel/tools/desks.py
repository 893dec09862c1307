"""Desks: from where a call is made, with the sight that goes with the place."""

from carrel.kernel import Access
from carrel.runs import Run
from carrel.sessions import Agent, Lane, Session, sight_of, whole_sight
from carrel.tools.model import Desk, Surroundings


def run_desk(
    house: Surroundings, access: Access, agent: Agent, lane: Lane, run: Run | None, session: Session | None
) -> Desk:
    """The desk of an agent at one of its lanes, within a run or outside of one."""
    sandboxed = bool(lane.sandboxed) or agent.profile.sandbox == "on"
    key = lane.session_key
    sight = (
        whole_sight(key)
        if access.is_person
        else sight_of(
            agent,
            key,
            sandboxed=sandboxed,
            tools=house.settings.tools,
            sandbox=house.settings.agents.defaults.sandbox,
        )
    )
    return Desk(
        access=access, agent=agent, key=key, sight=sight, house=house, sandboxed=sandboxed, run=run, session=session
    )  # fmt: skip

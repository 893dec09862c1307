"""Observers of other rooms' changes, inside their transactions."""

from carrel.access import SpaceRemoved, UserRemoved
from carrel.agents import AccountChanged, AgentChanged
from carrel.runs import Delivering, Rules, RunChanged
from carrel.storage import Database
from carrel.topics import TopicMoved
from carrel.work.assignments import forget_user
from carrel.work.heartbeats import Heartbeats, follow_agent
from carrel.work.locations import leave_space, move_with_topic
from carrel.work.orchestrator import follow_account
from carrel.work.run_ends import RunEnds, Stalls, note_end, require_task


def observe_runs(db: Database) -> None:
    """Register the observers of runs, accounts, agents, users, spaces and topics."""
    db.observe(Delivering, require_task)
    db.observe(RunChanged, note_end)
    db.observe(AccountChanged, follow_account)
    db.observe(AgentChanged, follow_agent)
    db.observe(UserRemoved, forget_user)
    db.observe(TopicMoved, move_with_topic)
    db.observe(SpaceRemoved, leave_space)


def duties(db: Database, rules: Rules) -> tuple[RunEnds, Stalls, Heartbeats]:
    """Return the duties of this room, to be served."""
    return RunEnds(db, rules), Stalls(db, rules), Heartbeats(db, rules)

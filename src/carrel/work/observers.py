"""Observers of other rooms' changes, inside their transactions."""

from carrel.access import SpaceRemoved, UserRemoved
from carrel.agents import AccountChanged
from carrel.runs import Delivering, RunChanged
from carrel.storage import Database
from carrel.topics import TopicMoved
from carrel.work.assignments import forget_user
from carrel.work.locations import leave_space, move_with_topic
from carrel.work.orchestrator import follow_account
from carrel.work.run_ends import note_end, require_task


def observe_runs(db: Database) -> None:
    """Register the observers of runs, accounts, users, spaces and topics."""
    db.observe(Delivering, require_task)
    db.observe(RunChanged, note_end)
    db.observe(AccountChanged, follow_account)
    db.observe(UserRemoved, forget_user)
    db.observe(TopicMoved, move_with_topic)
    db.observe(SpaceRemoved, leave_space)

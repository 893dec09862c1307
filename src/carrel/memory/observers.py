"""Observers of other rooms' changes, inside their transactions."""

from carrel.memory.memories import forget_scope
from carrel.memory.scopes import Scope
from carrel.sessions import LaneDeleted
from carrel.storage import Database, Tx


def observe_sessions(db: Database) -> None:
    """Register the observer that forgets the memories of deleted sessions."""
    db.observe(LaneDeleted, _forget)


def _forget(tx: Tx, deleted: LaneDeleted) -> None:
    forget_scope(tx, deleted.access, Scope.of_session(deleted.key.identity), deleted.key.agent)

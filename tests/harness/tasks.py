"""Tasks for tests that only need one to exist: lanes, runs and sessions name tasks."""

from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Access
from carrel.storage import Tx
from carrel.topics import DEFAULT_PRIORITY
from carrel.work.model import Task
from carrel.work.store import insert_task


def ensure_task(tx: Tx, access: Access, task_id: str) -> None:
    """Make a task in the inbox unless it exists."""
    task = Task(
        id=task_id,
        seq=tx.tick(),
        space_id=DEFAULT_SPACE,
        title=task_id,
        description="",
        status="inbox",
        priority=DEFAULT_PRIORITY,
        tags=(),
        metadata={},
        created_by="user",
        created_at=tx.now,
        updated_at=tx.now,
        status_at=tx.now,
    )
    insert_task(tx, access, task)

"""The lane of a session in which a mode is switched on or a schedule is made, before anything was said in it."""

from carrel.chats import require_valid_new_key
from carrel.kernel import Access, SessionKey
from carrel.sessions import lane_of, make_lane
from carrel.storage import Tx
from carrel.work import readable_task


def ensure_lane(tx: Tx, access: Access, key: SessionKey) -> None:
    """Make the lane of a session unless there is one; a lane of a task needs a task that the caller may read."""
    if lane_of(tx, access, key) is not None:
        return
    require_valid_new_key(key)
    if key.task_id is not None:
        readable_task(tx, access, key.task_id)
    make_lane(tx, access, key)

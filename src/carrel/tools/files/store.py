"""The SQL of files: messages with attachments."""

from carrel.journal import Entry, entries_matching
from carrel.kernel import Access
from carrel.kernel.limits import FILES_LISTED_MAX
from carrel.storage import Tx

_HAS_FILES = "attachment_ids <> '[]'"


def messages_with_files(tx: Tx, access: Access, session_id: str) -> list[Entry]:
    """Return the newest messages to a session that brought files, newest first."""
    rules = ("session_id = :session_id", "role = 'user'", _HAS_FILES)
    return entries_matching(tx, access, rules, limit=FILES_LISTED_MAX, session_id=session_id)


def thread_with_files(tx: Tx, access: Access, task_id: str) -> list[Entry]:
    """Return the newest messages of a task's thread that brought files, newest first."""
    rules = ("task_id = :task_id", "task_view = 'thread'", _HAS_FILES)
    return entries_matching(tx, access, rules, limit=FILES_LISTED_MAX, task_id=task_id)

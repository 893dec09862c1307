"""The messages of a task's thread that a session has not seen."""

from collections.abc import Callable

from carrel.journal.model import Entry
from carrel.journal.store import count_entries_of_task, entries_of_task
from carrel.kernel import Access
from carrel.kernel.limits import SNIPPET_MESSAGES_MAX, SNIPPET_MESSAGES_READ_MAX
from carrel.storage import Tx


def unseen_messages(
    tx: Tx, access: Access, task_id: str, is_seen: Callable[[Entry], bool], *, before: int | None = None,
    after: int = 0, counted: bool = False,
) -> tuple[list[Entry], int]:  # fmt: skip
    """Return the newest unseen messages of a thread, oldest first, and if `counted` how many more there are."""
    limit = SNIPPET_MESSAGES_MAX
    entries = entries_of_task(tx, access, task_id, "thread", limit=limit, before=before, after=after)
    if len(entries) == limit and any(map(is_seen, entries)):
        limit = SNIPPET_MESSAGES_READ_MAX
        entries = entries_of_task(tx, access, task_id, "thread", limit=limit, before=before, after=after)
    unseen = [entry for entry in entries if not is_seen(entry)]
    newest = unseen[-SNIPPET_MESSAGES_MAX:]
    more = len(unseen) - len(newest)
    if counted and len(entries) == limit:
        # Older ones were not checked, and count as unseen.
        more += count_entries_of_task(tx, access, task_id, "thread", before=entries[0].seq, after=after)
    return newest, more

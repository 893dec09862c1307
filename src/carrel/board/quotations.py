"""What repeats the words of entries, digests and routing memory, and must not outlive or outrun them."""

from collections.abc import Iterable

from carrel.board.digest_store import KINDS, forget_digest
from carrel.board.digests import publish_digest
from carrel.board.route_store import delete_routes_of_messages
from carrel.journal import DeletedEntry, EntriesDeleted, Entry
from carrel.kernel import Access
from carrel.storage import Database, Tx


def observe_entries(db: Database) -> None:
    """Register the observer of deleted entries, whose words are to be found nowhere else."""
    db.observe(EntriesDeleted, lambda tx, deleted: forget_quotations(tx, deleted.access, deleted.entries))


def forget_quotations(tx: Tx, access: Access, entries: Iterable[Entry | DeletedEntry]) -> None:
    """Forget what may quote entries that are about to be deleted, changed or moved; digests are written anew.

    Topics and tasks are locked here, so before the entries, as by whoever moves them with their entries.
    """
    quoted = list(entries)
    for kind in KINDS:
        places = {getattr(entry, f"{kind}_id") for entry in quoted} - {None}
        for item_id in sorted(places):
            space_id = forget_digest(tx, access, kind, item_id)
            if space_id is not None:
                publish_digest(tx, access, kind, item_id, space_id)
    for session_key in sorted({entry.session_key for entry in quoted if entry.session_key is not None}):
        numbers = {entry.seq for entry in quoted if entry.session_key == session_key}
        delete_routes_of_messages(tx, access, session_key, numbers)

"""What changed since a sequence number, for clients that poll instead of following the feed."""

from msgspec import Struct

from carrel.journal import store
from carrel.journal.model import Entry
from carrel.kernel import Access
from carrel.storage import Tx


class ChangePage(Struct, frozen=True, kw_only=True):
    """Everything new up to `seq` that the caller may see.

    `reset` says that the cursor could not be used: the page then holds the newest entries, and the client starts over.
    """

    seq: int
    entries: list[Entry]
    deleted_keys: list[str]
    more: bool = False
    reset: bool = False


def changes_since(tx: Tx, access: Access, after: int, *, limit: int) -> ChangePage:
    """Return what changed after a sequence number."""
    # Read first: everything numbered up to here is visible now and stays so, whatever is written meanwhile.
    newest = store.newest_event(tx, access)
    ahead = after > newest
    if ahead and store.any_event_after(tx, access, after - 1):
        # Another server has seen more than is settled here.
        return ChangePage(seq=after, entries=[], deleted_keys=[])
    if ahead or after < store.pruned_event(tx, access):
        entries = _visible(access, store.newest_entries(tx, access, newest, limit=limit))
        return ChangePage(seq=newest, entries=entries, deleted_keys=[], reset=True)
    found = [entry for entry in store.entries_since(tx, access, after, limit=limit + 1) if entry.seq <= newest]
    more = len(found) > limit
    upto = found[limit - 1].seq if more else newest
    deletions = store.deletions_between(tx, access, after, upto)
    keys = [event.key for event in deletions if event.key is not None and _may_see(access, event.agent_id, event.key)]
    return ChangePage(
        seq=upto, entries=_visible(access, found[:limit]), deleted_keys=list(dict.fromkeys(keys)), more=more
    )


def sequence_at(tx: Tx, access: Access, moment: int) -> int:
    """Return the sequence number after which everything since a moment follows; -1 when part of it was pruned."""
    after = store.first_event_since(tx, access, moment)
    if store.pruned_event(tx, access) and after <= store.first_event_since(tx, access, 0):
        # Every stored event happened since then, so pruned ones may have, too.
        return -1
    # An entry is numbered before the event about it.
    return min(after, store.first_entry_since(tx, access, moment))


def _visible(access: Access, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if _may_see(access, entry.agent_id, entry.key)]


def _may_see(access: Access, agent_id: str | None, key: str | None) -> bool:
    return access.agent_id in (None, agent_id) and (access.bound_to is None or str(access.bound_to) == key)

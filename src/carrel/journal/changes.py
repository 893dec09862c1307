"""What changed since a sequence number, for clients that poll instead of following the feed."""

from msgspec import Struct

from carrel.journal import store
from carrel.journal.model import Entry, Event
from carrel.kernel import Access
from carrel.storage import Tx


class ChangePage(Struct, frozen=True, kw_only=True):
    """Everything new up to `seq`.

    `reset` means that the cursor could not be used: the page then holds the newest entries, and the client starts over.
    """

    seq: int
    entries: list[Entry]
    # Events about deletions.
    deletions: list[Event]
    more: bool = False
    reset: bool = False


def changes_since(tx: Tx, access: Access, after: int, *, limit: int, upto: int | None = None) -> ChangePage:
    """Return what changed in the account after a number, at most `upto`; the caller checks who may see it.

    A negative number means that the client starts over.
    """
    # Read first: everything numbered up to here is visible now and stays so, whatever is written meanwhile.
    newest = store.newest_event(tx, access)
    ahead = after > newest
    if ahead and store.any_event_after(tx, access, after - 1):
        # Another server has seen more than is settled here.
        return ChangePage(seq=after, entries=[], deletions=[])
    if ahead or after < max(0, store.pruned_event(tx, access)):
        # The newest entries, for a client that starts over.
        entries = store.entries_matching(tx, access, [], before=newest + 1, limit=limit)[::-1]
        return ChangePage(seq=newest, entries=entries, deletions=[], reset=True)
    last = newest if upto is None else upto
    found = [(entry.seq, entry) for entry in store.entries_since(tx, access, after, limit=limit + 1)]
    changed = store.entries_changed(tx, access, after, last, limit=limit + 1)
    for numbered in (found, changed):
        last = min(last, numbered[limit - 1][0]) if len(numbered) > limit else last
    entries = [entry for number, entry in sorted(found + changed, key=lambda one: one[0]) if number <= last]
    deletions = store.deletions_between(tx, access, after, last)
    return ChangePage(seq=last, entries=entries, deletions=deletions, more=last < newest)


def sequence_at(tx: Tx, access: Access, moment: int) -> int:
    """Return a number before everything that happened since a moment; -1 if part of it was pruned."""
    after = store.number_before(tx, access, "events", moment)
    if store.pruned_event(tx, access) and after <= store.number_before(tx, access, "events", 0):
        # Every stored event happened since then, so pruned ones may have, too.
        return -1
    # An entry gets its number before the event about it.
    return min(after, store.number_before(tx, access, "entries", moment))

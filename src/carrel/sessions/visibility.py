"""Session visibility: which lanes a caller may see, on every surface.

One rule for every list, read, stream and message: `may_see` decides about one lane, `seen_lanes` is the same rule as a
condition of lists. Owners see everything; a user everything but other people's chats and what was spawned from them; an
agent what its view covers; a client what it created.
"""

from carrel.journal import ChangePage, Event, deletions_of
from carrel.kernel import Access, SessionKey, not_found
from carrel.notifications import mailbox_of
from carrel.sessions.model import Lane
from carrel.sessions.tool_visibility import why_hidden
from carrel.sessions.tree_store import is_open_to
from carrel.sessions.visibility_store import lanes_named
from carrel.storage import Tx


def may_see(tx: Tx, access: Access, key: SessionKey, made_by: str) -> bool:
    """Return whether the caller may see a lane, existing or not."""
    if access.view is not None:
        return why_hidden(tx, access, access.view, key) is None
    if access.kind in ("owner", "system"):
        return True
    if access.kind == "user":
        return is_open_to(tx, access, key, made_by)
    return access.kind == "client" and made_by == access.actor_id


def require_visible(tx: Tx, access: Access, lane: Lane) -> None:
    """Refuse a lane that the caller may not see, exactly as if it did not exist."""
    if not may_see(tx, access, lane.session_key, lane.made_by):
        raise not_found("session")


def visible_events(tx: Tx, access: Access, events: list[Event]) -> list[Event]:
    """Return the events that the caller may see: those to its mailbox, and those about lanes it may see."""
    mailbox = mailbox_of(access)
    open_to_it = [event for event in events if event.recipient is None or event.recipient == mailbox]
    if access.kind in ("owner", "system"):
        return open_to_it
    keys = {event.key for event in open_to_it if event.key is not None}
    lanes, deleted = lanes_named(tx, access, keys), deletions_of(tx, access, keys)
    return [
        event
        for event in open_to_it
        # The deletion of a private lane is addressed to those who saw it, so this one is of a shared lane.
        # What happened before a lane's deletion belongs to it, and not to a later one of the same key.
        if event.recipient is not None
        or (access.kind == "user" and event.name == "session.deleted")
        or _shows(tx, access, lanes if event.seq > deleted.get(event.key or "", 0) else {}, event.key, event.agent_id)
    ]


def visible_changes(tx: Tx, access: Access, page: ChangePage) -> ChangePage:
    """Return a page of changes without those of lanes that the caller may not see."""
    if access.kind in ("owner", "system"):
        return page.narrowed(page.entries, visible_events(tx, access, page.deletions))
    lanes = lanes_named(tx, access, {entry.key for entry in page.entries if entry.key is not None})
    entries = [entry for entry in page.entries if _shows(tx, access, lanes, entry.key, entry.agent_id)]
    return page.narrowed(entries, visible_events(tx, access, page.deletions))


def _shows(tx: Tx, access: Access, lanes: dict[str, bool], key: str | None, agent_id: str | None) -> bool:
    """Return whether the caller may see what is about a lane or, without a key, about an agent."""
    if key is None:
        return access.is_person or agent_id == access.agent_id
    seen = lanes.get(key)
    # Of a chat that was deleted nobody can tell any more whose it was.
    return may_see(tx, access, SessionKey.stored(key), made_by="") if seen is None else seen

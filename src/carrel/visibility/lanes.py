"""Session visibility: which lanes a caller may see, on every surface.

One rule for every list, read, stream and message: `may_see` decides about one lane, `seen_lanes` is the same rule as a
condition for lists. Owners see everything; a user everything but other people's chats and what was spawned from them;
an agent what its view covers; a client what it created.
"""

from carrel.kernel import Access, SessionKey, not_found
from carrel.storage import Tx
from carrel.visibility.tool_visibility import why_hidden
from carrel.visibility.tree_store import is_open_to


def may_see(tx: Tx, access: Access, key: SessionKey, made_by: str) -> bool:
    """Return whether the caller may see a lane, existing or not."""
    if access.view is not None:
        return why_hidden(tx, access, access.view, key) is None
    if access.kind in ("owner", "system"):
        return True
    if access.kind == "user":
        return is_open_to(tx, access, key, made_by)
    return access.kind == "client" and made_by == access.actor_id


def require_visible(tx: Tx, access: Access, key: SessionKey, made_by: str) -> None:
    """Refuse a lane that the caller may not see, exactly as if it did not exist."""
    if not may_see(tx, access, key, made_by):
        raise not_found("session")

"""Session visibility: which lanes a caller may see on any surface.

The session tools narrow it further for agents; those rules are in `tool_visibility`.
"""

from carrel.kernel import Access, SessionKey, not_found
from carrel.sessions.model import Lane


def may_see(access: Access, key: SessionKey, made_by: str) -> bool:
    """Return whether the caller may see a lane.

    People see the whole account, an agent its own lanes, a caller bound to one lane that lane, a client the lanes it
    created.
    """
    if access.kind in ("owner", "user", "system"):
        return True
    if access.kind in ("agent", "run"):
        return key.agent == access.agent_id and access.bound_to in (None, key)
    return made_by == access.actor_id


def require_visible(access: Access, lane: Lane) -> None:
    """Refuse a lane that the caller may not see, exactly as if it did not exist."""
    if not may_see(access, lane.session_key, lane.made_by):
        raise not_found("session")

"""Who may see which lane: one rule for every surface. Narrower rules of the session tools wrap this one."""

from carrel.kernel import Access, SessionKey, not_found
from carrel.sessions.model import Lane


def may_see(access: Access, key: SessionKey, made_by: str) -> bool:
    """People see their account, an agent its own lanes, who is bound to one lane that one, a program those it made."""
    if access.kind in ("owner", "user", "system"):
        return True
    if access.kind in ("agent", "run"):
        return key.agent == access.agent_id and access.bound_to in (None, key)
    return made_by == access.actor_id


def require_sight(access: Access, lane: Lane) -> None:
    """Refuse a lane that is out of sight exactly as if it were missing."""
    if not may_see(access, lane.session_key, lane.made_by):
        raise not_found("session")


def may_address(access: Access, key: SessionKey) -> bool:
    """True when the caller may speak in a lane of that agent, whether or not the lane exists yet."""
    if access.kind in ("agent", "run"):
        return key.agent == access.agent_id
    return access.kind != "client" or key.agent in access.agent_ids

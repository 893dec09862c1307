"""The SQL of session visibility: the lanes that a caller may see, as a condition of lists."""

from collections.abc import Iterable

from msgspec import structs

from carrel.kernel import Access, ToolVisibility
from carrel.storage import Condition, Tx, in_list
from carrel.visibility.lanes import visible_agents
from carrel.visibility.tree_store import EVERYWHERE, TREE, in_spaces, open_to_person

_EVERY_LANE = "TRUE"
_NO_LANE = "FALSE"


def seen_lanes(tx: Tx, access: Access) -> Condition:
    """Return the condition for the lanes `l` that the caller may see, and its values; `may_see` is the same rule."""
    if access.view is not None:
        return _seen_for(tx, access, *_seen_from(tx, access, access.view))
    if access.kind in ("owner", "system"):
        return _EVERY_LANE, {}
    if access.kind == "user":
        rule, values = open_to_person(tx, access)
        return f"({rule})", values
    return ("(l.made_by = :person)", {"person": access.actor_id}) if access.kind == "client" else (_NO_LANE, {})


def _seen_for(tx: Tx, access: Access, seen: str, values: dict[str, object]) -> Condition:
    """The condition for a run that somebody caused: lanes that this person may see as well, and the run's own lane."""
    is_limited = access.behalf is not None or "*" not in access.cause_spaces
    if access.view is None or not is_limited:
        return seen, values
    cause = structs.replace(access, actor_id=access.behalf or "", space_ids=access.cause_spaces)
    rule, of_cause = (in_spaces if access.behalf is None else open_to_person)(tx, cause, "cause_space")
    own = {"own_lane": str(access.view.key)}
    return f"(l.key = :own_lane OR ({seen} AND ({rule})))", values | of_cause | own


def _seen_from(tx: Tx, access: Access, view: ToolVisibility) -> Condition:
    if view.whole_account:
        return _EVERY_LANE, {}
    if view.mode == "self":
        return "l.key = :root", {"root": str(view.key)}
    agents = {f"seen_{at}": agent_id for at, agent_id in enumerate(visible_agents(tx, access, view))}
    placed, values = in_spaces(tx, access)
    # An agent sees all its own sessions, and those of other agents in its spaces.
    if agents and placed != EVERYWHERE:
        placed, values = f"(l.agent_id = :viewer OR {placed})", values | {"viewer": view.key.agent}
    of_agents = f" OR (l.agent_id IN ({', '.join(f':{name}' for name in agents)}) AND {placed})" if agents else ""
    return f"(l.key IN ({TREE}){of_agents})", {"root": str(view.key), **agents, **(values if agents else {})}


def is_narrowed(tx: Tx, access: Access) -> bool:
    """Return whether the account has listed lanes that the caller may not see."""
    seen, values = seen_lanes(tx, access)
    sql = f"SELECT 1 FROM lanes l WHERE l.account_id = :account AND l.archived_at IS NULL AND NOT {seen} LIMIT 1"
    return tx.one(sql, access, **values) is not None


def lanes_named(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, bool]:
    """Return the existing lanes among those keys, each with whether the caller may see it."""
    listed, names = in_list("key", keys)
    if not names:
        return {}
    seen, values = seen_lanes(tx, access)
    sql = f"SELECT l.key, {seen} FROM lanes l WHERE l.account_id = :account AND l.key IN ({listed})"
    return {row[0]: bool(row[1]) for row in tx.all(sql, access, **names, **values)}

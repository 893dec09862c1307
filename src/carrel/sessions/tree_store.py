"""The SQL of trees of lanes: a lane with everything spawned from it, and the lane that a tree begins with."""

from carrel.kernel import Access
from carrel.sessions.model import PERSONAL_KINDS
from carrel.storage import Tx

_PERSONAL = ", ".join(f"'{kind}'" for kind in PERSONAL_KINDS)

# The keys of a lane, `:root`, and of all lanes spawned from it.
TREE = (
    "WITH RECURSIVE tree (key) AS (SELECT CAST(:root AS TEXT) UNION SELECT c.key FROM lanes c JOIN tree t "
    "ON c.spawned_by = t.key WHERE c.account_id = :account) SELECT key FROM tree"
)

# The kind and maker of the lane that the tree of a lane `l` begins with. A lane that is younger than its child has
# taken over the key of a deleted one; such a tree has no beginning any more.
_ROOT = (
    "WITH RECURSIVE up (kind, made_by, spawned_by, created_at) AS (SELECT l.kind, l.made_by, l.spawned_by, l.created_at"
    "{start} UNION SELECT p.kind, p.made_by, p.spawned_by, p.created_at FROM up JOIN lanes p ON p.account_id = "
    ":account AND p.key = up.spawned_by AND p.created_at <= up.created_at) SELECT kind, made_by FROM up "
    "WHERE spawned_by IS NULL"
)
_ROOT_OF_ONE = _ROOT.format(start=" FROM lanes l WHERE l.account_id = :account AND l.key = :key")
_OPEN_TO_PERSON = f"({{0}}.kind NOT IN ({_PERSONAL}) OR {{0}}.made_by = :person)"
# The lanes `l` that a person sees: all but the chats of others and what was spawned from them. Most lanes are not
# spawned, and are decided without climbing.
OPEN_TO_PERSON = (
    f"CASE WHEN l.spawned_by IS NULL THEN {_OPEN_TO_PERSON.format('l')} "
    f"ELSE EXISTS (SELECT 1 FROM ({_ROOT.format(start='')}) AS r WHERE {_OPEN_TO_PERSON.format('r')}) END"
)


def private_to(tx: Tx, access: Access, key: str) -> str | None:
    """Return who made the chat that a lane is or was spawned from; None for a lane that people share.

    It is empty when nobody can tell any more, because a lane on the way was deleted.
    """
    root = tx.one(_ROOT_OF_ONE, access, key=key)
    if root is None:
        return ""
    return str(root[1]) if root[0] in PERSONAL_KINDS else None


def spawned_from(tx: Tx, access: Access, key: str, root: str) -> bool:
    """Return True when a lane was spawned from another, directly or not; a lane counts as spawned from itself."""
    return tx.one(f"SELECT 1 FROM ({TREE}) AS t WHERE t.key = :key", access, root=root, key=key) is not None

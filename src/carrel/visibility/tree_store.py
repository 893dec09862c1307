"""The SQL of trees of lanes: a lane with everything spawned from it, and the root of a lane's tree."""

from carrel.journal import spaces_of
from carrel.kernel import Access, SessionKey
from carrel.storage import Condition, Tx, in_list

# The kinds of lanes that are one person's chat with one agent.
PERSONAL_KINDS = ("chat", "direct")
PERSONAL = ", ".join(f"'{kind}'" for kind in PERSONAL_KINDS)

# The keys of a lane, `:root`, and of all lanes spawned from it.
TREE = (
    "WITH RECURSIVE tree (key) AS (SELECT CAST(:root AS TEXT) UNION SELECT c.key FROM lanes c JOIN tree t "
    "ON c.spawned_by = t.key WHERE c.account_id = :account) SELECT key FROM tree"
)

# Kind, maker and conversation of the root of a lane `l`. A lane that is younger than its child has taken over the key
# of a deleted one; such a tree has no root any more.
_ROOT = (
    "WITH RECURSIVE up (kind, made_by, conversation, spawned_by, created_at) AS (SELECT l.kind, l.made_by, "
    "l.conversation, l.spawned_by, l.created_at{start} UNION SELECT p.kind, p.made_by, p.conversation, p.spawned_by, "
    "p.created_at FROM up JOIN lanes p ON p.account_id = :account AND p.key = up.spawned_by "
    "AND p.created_at <= up.created_at) SELECT kind, made_by, conversation FROM up WHERE spawned_by IS NULL"
)
_ROOT_OF_ONE = _ROOT.format(start=" FROM lanes l WHERE l.account_id = :account AND l.key = :key")
EVERYWHERE = "TRUE"
_OPEN_TO_PERSON = f"({{0}}.kind NOT IN ({PERSONAL}) OR {{0}}.made_by = :person)"


def open_to_person(tx: Tx, access: Access, name: str = "lane_space") -> Condition:
    """Return the condition for the lanes `l` that a person sees, and its values.

    These are all but other people's chats, lanes of tasks and topics outside the person's spaces, and what was spawned
    from either. Most lanes are not spawned and need no climb to a root. `name` prefixes the parameters for the spaces.
    """
    placed, values = _placed(access, name)
    return _of_root(f"({_OPEN_TO_PERSON} AND {placed})"), {"person": access.actor_id} | values


def in_spaces(tx: Tx, access: Access, name: str = "lane_space") -> Condition:
    """Return the condition for lanes `l` other than those of tasks and topics outside the caller's spaces."""
    placed, values = _placed(access, name)
    return (placed if placed == EVERYWHERE else _of_root(placed)), values


def _of_root(rule: str) -> str:
    """The condition for lanes `l` whose root satisfies the rule."""
    climbing = f"EXISTS (SELECT 1 FROM ({_ROOT.format(start='')}) AS r WHERE {rule.format('r')})"
    return f"CASE WHEN l.spawned_by IS NULL THEN {rule.format('l')} ELSE {climbing} END"


def _placed(access: Access, name: str) -> Condition:
    """The condition for lanes of tasks and topics that are visible in the caller's spaces, and for all other lanes."""
    if "*" in access.space_ids:
        return EVERYWHERE, {}
    listed, values = in_list(name, access.space_ids)
    spaces = f"({listed or 'NULL'})"
    topic = (
        "EXISTS (SELECT 1 FROM topic_spaces s WHERE s.account_id = :account "
        f"AND s.topic_id = %s AND s.space_id IN {spaces})"
    )
    task = (
        "EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = :account AND t.id = substr({0}.conversation, 6) "
        f"AND (t.space_id IN {spaces} OR {topic % 't.topic_id'}))"
    )
    by_kind = f"WHEN 'task' THEN {task} WHEN 'topic' THEN {topic % 'substr({0}.conversation, 7)'}"
    return f"CASE {{0}}.kind {by_kind} ELSE TRUE END", values


def is_open_to(tx: Tx, access: Access, key: SessionKey, made_by: str) -> bool:
    """Return whether a person sees a lane, existing or not; `open_to_person` is the same rule.

    A spawned lane is hidden if its root is unknown because a lane in between was deleted.
    """
    kind, maker, conversation = _root_of(tx, access, key, made_by)
    if kind in ("", *PERSONAL_KINDS):
        return bool(kind) and maker == access.actor_id
    return _covers(tx, access, kind, conversation)


def is_in_spaces(tx: Tx, access: Access, key: SessionKey) -> bool:
    """Return whether a lane is not of a task or topic outside the caller's spaces; the rule of `in_spaces`."""
    if "*" in access.space_ids:
        return True
    kind, _, conversation = _root_of(tx, access, key, "")
    return bool(kind) and _covers(tx, access, kind, conversation)


def _root_of(tx: Tx, access: Access, key: SessionKey, made_by: str) -> tuple[str, str, str]:
    """Kind, maker and conversation of the root of a lane; empty if unknown."""
    if key.kind != "subagent":
        return key.kind, made_by, key.conversation
    found = tx.one(_ROOT_OF_ONE, access, key=str(key))
    return (found[0], found[1], found[2]) if found else ("", "", "")


def _covers(tx: Tx, access: Access, kind: str, conversation: str) -> bool:
    """Whether the task or topic of a lane is visible in the caller's spaces; other lanes are, in any space."""
    if "*" in access.space_ids or kind not in ("task", "topic"):
        return access.covers(access.space_ids)
    item = conversation.partition(":")[2]
    return access.covers(spaces_of(tx, access, *((None, item) if kind == "task" else (item, None))))


def private_to(tx: Tx, access: Access, key: str) -> str | None:
    """Return who created the chat that a lane is or was spawned from; None for a lane that people share.

    Empty if that is unknown because a lane in between was deleted.
    """
    root = tx.one(_ROOT_OF_ONE, access, key=key)
    if root is None:
        return ""
    return str(root[1]) if root[0] in PERSONAL_KINDS else None


def spawned_from(tx: Tx, access: Access, key: str, root: str) -> bool:
    """Return whether a lane was spawned from another, directly or not; a lane counts as spawned from itself."""
    return tx.one(f"SELECT 1 FROM ({TREE}) AS t WHERE t.key = :key", access, root=root, key=key) is not None

"""The SQL of putting messages of lanes on the board, and of taking them off."""

from carrel.board.filters import PRIVATE
from carrel.kernel import Access
from carrel.kernel.settings import Recall
from carrel.storage import Tx

# What the classifier sorts: no notes, thread messages, entries whose run was given a task, or entries that a program
# logged on purpose.
_SAID = (
    "i.account_id = :account AND i.key = :key AND i.type <> 'note' AND i.task_view IS NULL AND {logged} "
    "AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.account_id = i.account_id AND r.id = i.run_id "
    "AND r.task_id = i.task_id) AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = i.account_id "
    "AND l.key = i.key AND l.kind = 'task')"
)
# A topic is named after one of its first messages.
_OPENINGS_MAX = 20
_SHARED = "(i.source IS NULL OR i.run_id IS NOT NULL)"


def _said(*, is_private: bool) -> str:
    """What was said in a lane; in a person's chat this includes what programs log there."""
    return _SAID.format(logged="TRUE" if is_private else _SHARED)


def lanes_to_settle(tx: Tx, access: Access) -> list[str]:
    """Return the lanes of an account with sorted entries, or with entries that were kept from being sorted."""
    sql = (
        "SELECT DISTINCT i.key FROM entries i WHERE i.account_id = :account AND i.key IS NOT NULL "
        "AND (i.topic_id IS NOT NULL OR i.classification_error = :private) ORDER BY i.key"
    )
    return [row[0] for row in tx.all(sql, access, private=PRIVATE)]


def places_of_lane(tx: Tx, access: Access, key: str, *, is_private: bool) -> list[tuple[str, str | None]]:
    """Return the topics and tasks into which the messages of a lane are sorted."""
    sql = (
        f"SELECT DISTINCT i.topic_id, i.task_id FROM entries i WHERE {_said(is_private=is_private)} "
        "AND i.topic_id IS NOT NULL"
    )
    return [(row[0], row[1]) for row in tx.all(sql, access, key=key)]


def openings_of_topic(tx: Tx, access: Access, topic_id: str) -> list[str]:
    """Return the first messages of a topic."""
    sql = (
        "SELECT content FROM entries WHERE account_id = :account AND topic_id = :topic_id AND type = 'conversation' "
        "ORDER BY seq LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, limit=_OPENINGS_MAX, topic_id=topic_id)]


def take_off(tx: Tx, access: Access, key: str, *, is_private: bool) -> int:
    """Remove a lane's messages from topics and tasks; return how many entries those were."""
    said = _said(is_private=is_private)
    left = (
        "INSERT INTO departures (account_id, seq, kind, item_id, key, agent_id, space_id) "
        "SELECT i.account_id, tick(), 'log', i.id, i.key, i.agent_id, p.space_id FROM entries i "
        "JOIN topic_spaces p ON p.account_id = i.account_id AND p.topic_id = i.topic_id "
        f"WHERE {said}"
    )
    tx.run(left, access, key=key)
    sql = (
        "UPDATE entries AS i SET topic_id = NULL, task_id = NULL, classification = 'classified', "
        "classification_error = :private, updated_at = :now, changed_seq = tick() "
        f"WHERE {said} AND i.topic_id IS NOT NULL"
    )
    return tx.run(sql, access, key=key, private=PRIVATE, now=tx.now)


def put_on(tx: Tx, access: Access, key: str) -> int:
    """Let a lane's messages be sorted; return how many entries those are."""
    sql = (
        "UPDATE entries SET classification = 'pending', classification_attempts = 0, classification_error = NULL, "
        "changed_seq = tick() WHERE account_id = :account AND key = :key AND classification_error = :private"
    )
    return tx.run(sql, access, key=key, private=PRIVATE)


def is_empty(tx: Tx, access: Access, topic_id: str) -> bool:
    """Return whether a topic made by the classifier has become empty."""
    sql = (
        "SELECT 1 FROM topics o WHERE o.account_id = :account AND o.id = :id AND o.created_by = 'classifier' "
        "AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.account_id = o.account_id AND e.topic_id = o.id) "
        "AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = o.account_id AND t.topic_id = o.id) "
        "AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = o.account_id AND l.kind = 'topic' "
        "AND l.conversation = 'topic:' || o.id)"
    )
    return tx.one(sql, access, id=topic_id) is not None


def stamp_default(tx: Tx, access: Access, recall: Recall) -> None:
    """Write the default for lanes of an account for which nobody has chosen."""
    tx.run("UPDATE accounts SET recall_default = :recall WHERE id = :account", access, recall=recall)
    tx.forget()

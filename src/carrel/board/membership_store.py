"""The SQL of putting what was said in lanes on the board, and of taking it off."""

from carrel.board.filters import PRIVATE
from carrel.kernel import Access
from carrel.kernel.settings import Recall
from carrel.storage import Tx

# What the classifier has sorted, or would sort: no note, no message of a thread, nothing that its run was given a task
# for, and nothing that a program has logged on purpose.
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
    """What was said in a lane; what programs log in a person's chat is that person's as well."""
    return _SAID.format(logged="TRUE" if is_private else _SHARED)


def lanes_to_settle(tx: Tx, access: Access) -> list[str]:
    """Return the lanes of an account of which something is sorted, or was kept from being sorted."""
    sql = (
        "SELECT DISTINCT i.key FROM entries i WHERE i.account_id = :account AND i.key IS NOT NULL "
        "AND (i.topic_id IS NOT NULL OR i.classification_error = :private) ORDER BY i.key"
    )
    return [row[0] for row in tx.all(sql, access, private=PRIVATE)]


def places_of_lane(tx: Tx, access: Access, key: str, *, is_private: bool) -> list[tuple[str, str | None]]:
    """Return the topics and tasks that what was said in a lane is sorted into."""
    sql = (
        f"SELECT DISTINCT i.topic_id, i.task_id FROM entries i WHERE {_said(is_private=is_private)} "
        "AND i.topic_id IS NOT NULL"
    )
    return [(row[0], row[1]) for row in tx.all(sql, access, key=key)]


def openings_of_topic(tx: Tx, access: Access, topic_id: str) -> list[str]:
    """Return what was first said in a topic."""
    sql = (
        "SELECT content FROM entries WHERE account_id = :account AND topic_id = :topic_id AND type = 'conversation' "
        "ORDER BY seq LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, limit=_OPENINGS_MAX, topic_id=topic_id)]


def take_off(tx: Tx, access: Access, key: str, *, is_private: bool) -> int:
    """Take what was said in a lane out of topics and tasks; return how many entries were there."""
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
    """Let what was said in a lane be sorted; return how many entries that are."""
    sql = (
        "UPDATE entries SET classification = 'pending', classification_attempts = 0, classification_error = NULL, "
        "changed_seq = tick() WHERE account_id = :account AND key = :key AND classification_error = :private"
    )
    return tx.run(sql, access, key=key, private=PRIVATE)


def is_empty(tx: Tx, access: Access, topic_id: str) -> bool:
    """Return whether the classifier has made a topic that nothing belongs to any more."""
    sql = (
        "SELECT 1 FROM topics o WHERE o.account_id = :account AND o.id = :id AND o.created_by = 'classifier' "
        "AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.account_id = o.account_id AND e.topic_id = o.id) "
        "AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = o.account_id AND t.topic_id = o.id) "
        "AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = o.account_id AND l.kind = 'topic' "
        "AND l.conversation = 'topic:' || o.id)"
    )
    return tx.one(sql, access, id=topic_id) is not None


def stamp_default(tx: Tx, access: Access, recall: Recall) -> None:
    """Write what holds for lanes of an account for which nobody has chosen."""
    tx.run("UPDATE accounts SET recall_default = :recall WHERE id = :account", access, recall=recall)
    tx.forget()

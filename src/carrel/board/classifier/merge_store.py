"""The SQL of merging: which topics were talked about of late, what was said around one, and what may be merged."""

from carrel.kernel import MS_PER_SECOND, Access
from carrel.kernel.limits import ROUTES_MAX
from carrel.storage import Tx

_LOOSE = "created_by = 'classifier' AND curated = 0"
_AROUND = (
    "SELECT e.topic_id FROM entries e WHERE e.account_id = :account AND e.{column} = :name AND e.seq {side} "
    "AND e.topic_id IS NOT NULL AND e.topic_id <> :topic_id AND e.role = 'user' "
    "AND e.created_at BETWEEN :since AND :upto ORDER BY e.seq {order} LIMIT 1"
)


def topics_of_session(tx: Tx, access: Access, session_key: str) -> list[str]:
    """Return the topics that the messages of a session went to of late, the newest first."""
    sql = (
        "SELECT topic_id FROM topic_routes WHERE account_id = :account AND session_key = :session_key "
        "ORDER BY seq DESC LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, session_key=session_key, limit=ROUTES_MAX)]


def neighbours(tx: Tx, access: Access, topic_id: str, *, pause_seconds: int) -> list[str]:
    """Return the topics that were talked about before and behind the newest message of a topic, without a pause."""
    sql = (
        "SELECT key, bucket, seq, created_at FROM entries WHERE account_id = :account AND topic_id = :topic_id "
        "AND role = 'user' ORDER BY seq DESC LIMIT 1"
    )
    row = tx.one(sql, access, topic_id=topic_id)
    if row is None:
        return []
    column, name = ("key", row[0]) if row[0] is not None else ("bucket", row[1])
    pause = pause_seconds * MS_PER_SECOND
    found: list[str] = []
    for side, order in (("< :seq", "DESC"), ("> :seq", "ASC")):
        around = tx.one(
            _AROUND.format(column=column, side=side, order=order), access, name=name, seq=row[2], topic_id=topic_id,
            since=row[3] - pause, upto=row[3] + pause,
        )  # fmt: skip
        found += [around[0]] if around is not None else []
    return found


def hold_loose(tx: Tx, access: Access, topic_id: str) -> bool:
    """Lock a topic; return whether the classifier may still rename it and merge it into another."""
    sql = f"SELECT {_LOOSE} FROM topics WHERE account_id = :account AND id = :id FOR NO KEY UPDATE"
    row = tx.one(sql, access, id=topic_id)
    return row is not None and bool(row[0])


def is_used(tx: Tx, access: Access, topic_id: str) -> bool:
    """Return whether a topic has tasks, topics below it or a session of its own."""
    sql = (
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = :account AND t.topic_id = :id) "
        "OR EXISTS (SELECT 1 FROM topics o WHERE o.account_id = :account AND o.parent_id = :id) "
        "OR EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = :account AND l.kind = 'topic' "
        "AND l.conversation = :conversation)"
    )
    return tx.one(sql, access, id=topic_id, conversation=f"topic:{topic_id}") is not None


def entries_of_topic(tx: Tx, access: Access, topic_id: str, *, limit: int) -> list[str]:
    """Return the ids of a topic's entries, oldest first."""
    sql = "SELECT id FROM entries WHERE account_id = :account AND topic_id = :topic_id ORDER BY seq LIMIT :limit"
    return [row[0] for row in tx.all(sql, access, topic_id=topic_id, limit=limit)]

"""The SQL of grouping: what was said in topics, what may be moved, and what a topic is known by afterwards."""

from collections.abc import Sequence

from carrel.board.classifier import profile_store
from carrel.board.classifier.moves import SaidEntry
from carrel.board.profiles import Profile
from carrel.kernel import Access
from carrel.kernel.limits import CLASSIFIER_MERGED_ENTRIES_MAX, CLASSIFIER_SAID_CHARS_MAX
from carrel.storage import Tx

_LOOSE = "created_by = 'classifier' AND curated = 0"


def said_in_topics(tx: Tx, access: Access, topic_ids: Sequence[str], *, limit: int) -> list[SaidEntry]:
    """Return the newest entries of topics, by chat and number. What has a task stays with it, as what was given one."""
    if not topic_ids:
        return []
    names = {f"topic_{at}": topic_id for at, topic_id in enumerate(topic_ids)}
    sql = (
        "SELECT id, topic_id, COALESCE(key, bucket, id), created_at, substr(content, 1, :chars), "
        "author_kind = 'user' AND (role = 'user' OR type = 'note'), "
        "task_id IS NOT NULL OR COALESCE(source, '') LIKE '%boardScopeTopicId%', seq "
        f"FROM entries WHERE account_id = :account AND topic_id IN ({', '.join(f':{name}' for name in names)}) "
        "ORDER BY seq DESC LIMIT :limit"
    )
    rows = tx.all(sql, access, chars=CLASSIFIER_SAID_CHARS_MAX * 2, limit=limit, **names)
    return [
        SaidEntry(
            id=row[0], topic_id=row[1], chat=row[2], at=row[3], text=row[4], is_persons=bool(row[5]),
            is_given=bool(row[6]),
        )
        for row in sorted(rows, key=lambda row: (row[2], row[7]))
    ]  # fmt: skip


def learn_again(tx: Tx, access: Access, topic_id: str) -> None:
    """Let a topic be known by what is said there now."""
    if tx.one("SELECT 1 FROM topics WHERE account_id = :account AND id = :id FOR NO KEY UPDATE", access, id=topic_id):
        said = profile_store.said_in_topic(tx, access, topic_id, read=CLASSIFIER_MERGED_ENTRIES_MAX)
        profile_store.save_profile(tx, access, topic_id, Profile().with_said(reversed(said)))


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

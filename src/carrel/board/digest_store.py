"""The SQL of digests: which are to be renewed, and from what they are written."""

from typing import Literal

from msgspec import Struct

from carrel.journal import Entry, entries_by_id
from carrel.kernel import Access
from carrel.storage import Tx

Kind = Literal["topic", "task"]
# In the order in which they are locked.
KINDS: tuple[Kind, ...] = ("topic", "task")
_TABLES: dict[Kind, str] = {"topic": "topics", "task": "tasks"}
_NAMES: dict[Kind, str] = {"topic": "name", "task": "title"}
_ONE = "account_id = :account AND id = :id"


class Renewal(Struct, frozen=True):
    """A topic or a task whose digest is to be renewed."""

    kind: Kind
    id: str
    name: str
    due_at: int


def note_digest(tx: Tx, access: Access, kind: Kind, item_id: str, interval_ms: int) -> None:
    """Note that a digest is no longer up to date; it is renewed once the one there is as old as the interval.

    The row is locked for the rest of the transaction.
    """
    sql = (
        f"UPDATE {_TABLES[kind]} SET digest_due_at = COALESCE(digest_due_at, CASE WHEN digest_updated_at + :interval "
        f"> :now THEN digest_updated_at + :interval ELSE :now END) WHERE {_ONE}"
    )
    tx.run(sql, access, id=item_id, interval=interval_ms, now=tx.now)


def ask_for_digest(tx: Tx, access: Access, kind: Kind, item_id: str) -> None:
    """Let a digest be renewed now, whatever the interval."""
    tx.run(f"UPDATE {_TABLES[kind]} SET digest_due_at = :now WHERE {_ONE}", access, id=item_id, now=tx.now)


def hasten_digests(tx: Tx, access: Access) -> None:
    """Let all digests that are not up to date be renewed now."""
    for table in _TABLES.values():
        sql = f"UPDATE {table} SET digest_due_at = :now WHERE account_id = :account AND digest_due_at > :now"
        tx.run(sql, access, now=tx.now)


def forget_digest(tx: Tx, access: Access, kind: Kind, item_id: str) -> str | None:
    """Remove a digest and let another be written now; return the space of its topic or task, None if there was none."""
    hold_item(tx, access, kind, item_id)
    sql = (
        f"UPDATE {_TABLES[kind]} SET digest = NULL, digest_updated_at = :now, digest_due_at = :now, seq = tick() "
        f"WHERE {_ONE} AND digest IS NOT NULL RETURNING space_id"
    )
    row = tx.one(sql, access, id=item_id, now=tx.now)
    return None if row is None else str(row[0])


def forget_profile(tx: Tx, access: Access, topic_id: str) -> None:
    """Delete the profile of a topic: it has words of something that is deleted, changed or moved."""
    tx.run("DELETE FROM topic_profiles WHERE account_id = :account AND topic_id = :id", access, id=topic_id)


def hold_item(tx: Tx, access: Access, kind: Kind, item_id: str) -> None:
    """Lock a topic or a task: either its digest is written, or what it may quote is deleted, and not both at once."""
    tx.one(f"SELECT 1 FROM {_TABLES[kind]} WHERE {_ONE} FOR NO KEY UPDATE", access, id=item_id)


def renewals_due(tx: Tx, access: Access, *, limit: int) -> list[Renewal]:
    """Return digests to be renewed now, those first that have waited longest."""
    found: list[Renewal] = []
    for kind, table in _TABLES.items():
        sql = (
            f"SELECT id, {_NAMES[kind]}, digest_due_at FROM {table} WHERE account_id = :account "
            "AND digest_due_at <= :now ORDER BY digest_due_at, id LIMIT :limit"
        )
        found += [Renewal(kind, *row) for row in tx.all(sql, access, now=tx.now, limit=limit)]
    return sorted(found, key=lambda renewal: renewal.due_at)[:limit]


def end_renewal(tx: Tx, access: Access, renewal: Renewal) -> None:
    """Note that a digest is up to date."""
    sql = f"UPDATE {_TABLES[renewal.kind]} SET digest_due_at = NULL WHERE {_ONE}"
    tx.run(sql, access, id=renewal.id)


def entries_told_of(tx: Tx, access: Access, kind: Kind, item_id: str, *, limit: int) -> list[Entry]:
    """Return the newest entries that a digest tells of, oldest first; not what ticks are told, which nobody said.

    That of a topic tells of nothing that belongs to one of its tasks, since it is shown to the others; that of a task
    which was reopened begins there.
    """
    mine = (
        "task_id IS NULL"
        if kind == "topic"
        else ("seq > (SELECT t.reopened_seq FROM tasks t WHERE t.account_id = :account AND t.id = :id)")
    )
    sql = (
        f"SELECT id FROM entries WHERE account_id = :account AND {kind}_id = :id AND classification = 'classified' "
        f"AND {mine} AND NOT (role = 'user' AND auto_run_id IS NOT NULL) ORDER BY seq DESC LIMIT :limit"
    )
    return entries_by_id(tx, access, [row[0] for row in tx.all(sql, access, id=item_id, limit=limit)])

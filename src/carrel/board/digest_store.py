"""The SQL of digests: which to renew, and the entries they are written from."""

from typing import Literal

from msgspec import Struct

from carrel.journal import Entry, entries_by_id
from carrel.kernel import MS_PER_MINUTE, Access
from carrel.kernel.settings import DigestsSettings
from carrel.storage import Tx

Kind = Literal["topic", "task"]
# In locking order.
KINDS: tuple[Kind, ...] = ("topic", "task")
_TABLES: dict[Kind, str] = {"topic": "topics", "task": "tasks"}
_NAMES: dict[Kind, str] = {"topic": "name", "task": "title"}
_ONE = "account_id = :account AND id = :id"


class Renewal(Struct, frozen=True):
    """A topic or a task whose digest needs renewal."""

    kind: Kind
    id: str
    name: str
    due_at: int


def note_digest(tx: Tx, access: Access, kind: Kind, item_id: str, settings: DigestsSettings) -> None:
    """Lock a topic or a task, and record that its digest is outdated: it is renewed once older than the interval."""
    sql = (
        f"UPDATE {_TABLES[kind]} SET digest_due_at = COALESCE(digest_due_at, CASE WHEN digest_updated_at + :interval "
        f"> :now THEN digest_updated_at + :interval ELSE :now END) WHERE {_ONE}"
    )
    tx.run(sql, access, id=item_id, interval=int(settings.interval_minutes * MS_PER_MINUTE), now=tx.now)


def ask_for_digest(tx: Tx, access: Access, kind: Kind, item_id: str) -> None:
    """Let a digest be renewed now, whatever the interval."""
    tx.run(f"UPDATE {_TABLES[kind]} SET digest_due_at = :now WHERE {_ONE}", access, id=item_id, now=tx.now)


def hasten_digests(tx: Tx, access: Access) -> None:
    """Let all outdated digests be renewed now."""
    for table in _TABLES.values():
        sql = f"UPDATE {table} SET digest_due_at = :now WHERE account_id = :account AND digest_due_at > :now"
        tx.run(sql, access, now=tx.now)


def forget_digest(tx: Tx, access: Access, kind: Kind, item_id: str) -> str | None:
    """Remove a digest and request another; return the space of its topic or task, None if there was none."""
    hold_item(tx, access, kind, item_id)
    sql = (
        f"UPDATE {_TABLES[kind]} SET digest = NULL, digest_updated_at = :now, digest_due_at = :now, seq = tick() "
        f"WHERE {_ONE} AND digest IS NOT NULL RETURNING space_id"
    )
    return tx.value(sql, access, id=item_id, now=tx.now)


def forget_profile(tx: Tx, access: Access, topic_id: str) -> None:
    """Delete the profile of a topic, because words in it were deleted, changed or moved."""
    tx.run("DELETE FROM topic_profiles WHERE account_id = :account AND topic_id = :id", access, id=topic_id)


def hold_item(tx: Tx, access: Access, kind: Kind, item_id: str) -> None:
    """Lock a topic or a task, so that writing its digest and deleting what it quotes cannot overlap."""
    tx.one(f"SELECT 1 FROM {_TABLES[kind]} WHERE {_ONE} FOR NO KEY UPDATE", access, id=item_id)


def renewals_due(tx: Tx, access: Access, *, limit: int) -> list[Renewal]:
    """Return digests that are due for renewal, the longest waiting first."""
    found: list[Renewal] = []
    for kind, table in _TABLES.items():
        sql = (
            f"SELECT id, {_NAMES[kind]}, digest_due_at FROM {table} WHERE account_id = :account "
            "AND digest_due_at <= :now ORDER BY digest_due_at, id LIMIT :limit"
        )
        found += [Renewal(kind, *row) for row in tx.all(sql, access, now=tx.now, limit=limit)]
    return sorted(found, key=lambda renewal: renewal.due_at)[:limit]


def end_renewal(tx: Tx, access: Access, renewal: Renewal) -> None:
    sql = f"UPDATE {_TABLES[renewal.kind]} SET digest_due_at = NULL WHERE {_ONE}"
    tx.run(sql, access, id=renewal.id)


def entries_for_digest(tx: Tx, access: Access, kind: Kind, item_id: str, *, limit: int) -> list[Entry]:
    """Return the newest entries for a digest, oldest first; without the messages of ticks, which nobody said.

    A topic's digest leaves out its tasks' entries, since readers of other tasks see it; the digest of a reopened task
    begins at the reopening.
    """
    since = "seq > (SELECT t.reopened_seq FROM tasks t WHERE t.account_id = :account AND t.id = :id)"
    mine = "task_id IS NULL" if kind == "topic" else since
    sql = (
        f"SELECT id FROM entries WHERE account_id = :account AND {kind}_id = :id AND classification = 'classified' "
        f"AND {mine} AND NOT (role = 'user' AND auto_run_id IS NOT NULL) ORDER BY seq DESC LIMIT :limit"
    )
    return entries_by_id(tx, access, [row[0] for row in tx.all(sql, access, id=item_id, limit=limit)])

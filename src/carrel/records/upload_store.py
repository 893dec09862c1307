"""The SQL of uploads: files that were sent ahead of their message."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx


class Upload(Struct, frozen=True, kw_only=True):
    """An uploaded file, and the task or the entry that uses it."""

    attachment_id: str
    made_by: str
    made_at: int
    task_id: str | None = None
    entry_id: str | None = None


_UNUSED = "task_id IS NULL AND entry_id IS NULL"
_UPLOADS = Table("uploads", Upload, key=("account_id", "attachment_id"))


def insert_upload(tx: Tx, access: Access, upload: Upload) -> None:
    """Write an upload."""
    tx.run(_UPLOADS.insert, access, **_UPLOADS.values(upload))


def upload_of(tx: Tx, access: Access, attachment_id: str) -> Upload | None:
    """Return the upload of a file."""
    sql = f"SELECT {_UPLOADS.columns} FROM uploads WHERE account_id = :account AND attachment_id = :attachment_id"
    return _UPLOADS.row(tx.one(sql, access, attachment_id=attachment_id))


def use_upload(
    tx: Tx, access: Access, attachment_id: str, made_by: str, *, task_id: str | None = None, entry_id: str | None = None
) -> bool:  # fmt: skip
    """Use somebody's file in a task's thread or an entry; False if it is not theirs or already used."""
    sql = (
        "UPDATE uploads SET task_id = :task_id, entry_id = :entry_id WHERE account_id = :account "
        f"AND attachment_id = :attachment_id AND made_by = :made_by AND {_UNUSED}"
    )
    used = {"task_id": task_id, "entry_id": entry_id}
    return tx.run(sql, access, attachment_id=attachment_id, made_by=made_by, **used) > 0


def count_unused(tx: Tx, access: Access, made_by: str) -> int:
    """Return how many files of somebody wait for their message."""
    sql = f"SELECT count(*) FROM uploads WHERE account_id = :account AND made_by = :made_by AND {_UNUSED}"
    row = tx.one(sql, access, made_by=made_by)
    return int(row[0]) if row else 0


def unused_before(tx: Tx, access: Access, moment: int, *, limit: int) -> list[str]:
    """Return the ids of files that were sent before a moment and that no message uses."""
    sql = (
        f"SELECT attachment_id FROM uploads WHERE account_id = :account AND {_UNUSED} AND made_at < :moment "
        "ORDER BY made_at LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, moment=moment, limit=limit)]

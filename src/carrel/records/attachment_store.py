"""The SQL of attachments: files that came with a message."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct, field

from carrel.kernel import Access, NewAttachment, Shape
from carrel.storage import Table, Tx


class FileShape(Shape, frozen=True):
    """A file that came with a message."""

    id: str
    name: str = field(name="fileName")
    mime_type: str
    size_bytes: int
    sha256: str


class Attachment(FileShape, frozen=True):
    """A file with its content."""

    content: bytes


_HEADS = Table("attachments", FileShape)
_TABLE = Table("attachments", Attachment, also=("created_at",))
_ONE = "account_id = :account AND id = :id"


def insert_attachment(tx: Tx, access: Access, new: NewAttachment) -> str:
    """Keep a file that came with a message and return its id."""
    digest = sha256(new.content).hexdigest()
    file = Attachment(tx.new_id("att"), new.name, new.mime_type, len(new.content), digest, new.content)
    tx.run(_TABLE.insert, access, created_at=tx.now, **_TABLE.values(file))
    return file.id


def attachments_by_id(tx: Tx, access: Access, ids: tuple[str, ...]) -> list[Attachment]:
    """Return the files with those ids, in that order."""
    rows = (tx.one(f"SELECT {_TABLE.columns} FROM attachments WHERE {_ONE}", access, id=file_id) for file_id in ids)
    return _TABLE.rows(filter(None, rows))


def attachment_heads(tx: Tx, access: Access, ids: tuple[str, ...]) -> list[FileShape]:
    """Return the files with those ids, in that order, without their content."""
    found = {head.id: head for head in _HEADS.among(tx, access, "id", ids)}
    return [found[file_id] for file_id in ids if file_id in found]


def delete_attachments(tx: Tx, access: Access, ids: Iterable[str]) -> None:
    """Delete files that came with messages."""
    for file_id in ids:
        tx.run(f"DELETE FROM attachments WHERE {_ONE}", access, id=file_id)


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
    tx.run(_UPLOADS.insert, access, **_UPLOADS.values(upload))


def upload_of(tx: Tx, access: Access, attachment_id: str) -> Upload | None:
    """Return the upload of a file."""
    return _UPLOADS.one(tx, access, "attachment_id = :attachment_id", attachment_id=attachment_id)


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
    return tx.value(sql, access, made_by=made_by) or 0


def unused_before(tx: Tx, access: Access, moment: int, *, limit: int) -> list[str]:
    """Return the ids of files that were sent before a moment and that no message uses."""
    sql = (
        f"SELECT attachment_id FROM uploads WHERE account_id = :account AND {_UNUSED} AND made_at < :moment "
        "ORDER BY made_at LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, moment=moment, limit=limit)]

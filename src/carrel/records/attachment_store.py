"""The SQL of attachments: files that came with a message."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from carrel.kernel import Access, NewAttachment, Shape
from carrel.storage import Table, Tx


class AttachmentHead(Struct, frozen=True):
    """A file that came with a message, without its content."""

    id: str
    name: str
    mime_type: str
    size_bytes: int
    sha256: str

    def shown(self) -> "FileShape":
        """Return the file as surfaces show it."""
        return FileShape.of(self, file_name=self.name)


class FileShape(Shape, frozen=True, kw_only=True):
    """A file that came with a message."""

    id: str
    file_name: str
    mime_type: str
    size_bytes: int
    sha256: str


class Attachment(AttachmentHead, frozen=True):
    """A file that came with a message."""

    content: bytes


_HEADS = Table("attachments", AttachmentHead)
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


def attachment_heads(tx: Tx, access: Access, ids: tuple[str, ...]) -> list[AttachmentHead]:
    """Return the files with those ids, in that order, without their content."""
    found = {head.id: head for head in _HEADS.among(tx, access, "id", ids)}
    return [found[file_id] for file_id in ids if file_id in found]


def delete_attachments(tx: Tx, access: Access, ids: Iterable[str]) -> None:
    """Delete files that came with messages."""
    for file_id in ids:
        tx.run(f"DELETE FROM attachments WHERE {_ONE}", access, id=file_id)

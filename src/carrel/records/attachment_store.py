"""The SQL of attachments: files that came with a message."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from carrel.kernel import Access, NewAttachment
from carrel.storage import Tx


class Attachment(Struct, frozen=True):
    """A file that came with a message."""

    id: str
    name: str
    mime_type: str
    size_bytes: int
    sha256: str
    content: bytes


def insert_attachment(tx: Tx, access: Access, new: NewAttachment) -> str:
    """Keep a file that came with a message; its id."""
    attachment_id = tx.new_id("att")
    tx.run(
        "INSERT INTO attachments (account_id, id, name, mime_type, size_bytes, sha256, content, created_at) "
        "VALUES (:account, :id, :name, :mime_type, :size_bytes, :sha256, :content, :now)",
        account=access.account_id,
        id=attachment_id,
        name=new.name,
        mime_type=new.mime_type,
        size_bytes=len(new.content),
        sha256=sha256(new.content).hexdigest(),
        content=new.content,
        now=tx.now,
    )
    return attachment_id


def attachments_by_id(tx: Tx, access: Access, ids: tuple[str, ...]) -> list[Attachment]:
    """The files of those ids, in that order."""
    found = []
    for attachment_id in ids:
        row = tx.one(
            "SELECT id, name, mime_type, size_bytes, sha256, content FROM attachments WHERE "
            "account_id = :account AND id = :id",
            account=access.account_id,
            id=attachment_id,
        )
        if row is not None:
            found.append(Attachment(row[0], row[1], row[2], row[3], row[4], bytes(row[5])))
    return found


class AttachmentHead(Struct, frozen=True, kw_only=True):
    """What is known of a file that came with a message, without its content."""

    id: str
    name: str
    mime_type: str
    size_bytes: int
    sha256: str


def attachment_heads(tx: Tx, access: Access, ids: tuple[str, ...]) -> list[AttachmentHead]:
    """What is known of those files, in that order."""
    found = []
    for attachment_id in ids:
        row = tx.one(
            "SELECT id, name, mime_type, size_bytes, sha256 FROM attachments WHERE account_id = :account AND id = :id",
            account=access.account_id,
            id=attachment_id,
        )
        if row is not None:
            found.append(AttachmentHead(**dict(zip(AttachmentHead.__struct_fields__, row, strict=True))))
    return found


def delete_attachments(tx: Tx, access: Access, ids: Iterable[str]) -> None:
    """Remove files that came with messages."""
    for attachment_id in ids:
        tx.run(
            "DELETE FROM attachments WHERE account_id = :account AND id = :id",
            account=access.account_id,
            id=attachment_id,
        )

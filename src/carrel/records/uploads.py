"""Files that are uploaded before the thread message that uses them; each is used by at most one message."""

import re

from msgspec import structs

from carrel.kernel import MS_PER_DAY, Access, Code, NewAttachment, Refusal, clip, invalid, limits, one_line
from carrel.records import attachment_store
from carrel.records.attachment_store import FileShape, Upload, attachment_heads, delete_attachments, insert_attachment
from carrel.storage import Tx

# Formats that are never text, even if their bytes happen to be readable.
_BINARY = re.compile(r"image/(?!svg)|audio/|video/|font/|application/(?:pdf|gzip|.*zip|x-tar|vnd\.openxmlformats)")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Characters that no text has; tabs, line ends, form feeds and terminal escapes are common.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def keep_file(tx: Tx, access: Access, new: NewAttachment, made_by: str) -> FileShape:
    """Keep somebody's file until a message uses it; an unused one is deleted later."""
    if len(new.content) > limits.ATTACHMENT_BYTES_MAX:
        raise Refusal(Code.TOO_LARGE, f"A file has at most {limits.ATTACHMENT_BYTES_MAX} bytes.", field="file")
    if attachment_store.count_unused(tx, access, made_by) >= limits.UPLOADS_UNUSED_MAX:
        waiting = f"{limits.UPLOADS_UNUSED_MAX} files of yours wait for a message already"
        raise Refusal(Code.LIMIT_REACHED, f"{waiting}; use them first, or try again tomorrow.")
    name = clip(one_line(new.name), limits.NAME_CHARS_MAX) or "file"
    file_id = insert_attachment(tx, access, structs.replace(new, name=name))
    attachment_store.insert_upload(tx, access, Upload(attachment_id=file_id, made_by=made_by, made_at=tx.now))
    return attachment_heads(tx, access, (file_id,))[0]


def use_files(
    tx: Tx, access: Access, made_by: str, file_ids: tuple[str, ...], *, task_id: str | None = None,
    entry_id: str | None = None,
) -> None:  # fmt: skip
    """Use somebody's files in a message of a task or in an entry; each can be used once."""
    if len(file_ids) > limits.ATTACHMENTS_MAX:
        message = f"A message has at most {limits.ATTACHMENTS_MAX} attachments."
        raise Refusal(Code.LIMIT_REACHED, message, field="attachmentIds")
    for name in file_ids:
        if not attachment_store.use_upload(tx, access, name, made_by, task_id=task_id, entry_id=entry_id):
            raise invalid("attachmentIds", f"There is no attachment '{name[:80]}' of yours that is not used already.")


def attach(tx: Tx, access: Access, files: tuple[NewAttachment, ...], entry_id: str) -> tuple[str, ...]:
    """Keep the files that came with a message; whoever may see the message's entry may read them."""
    ids = tuple(insert_attachment(tx, access, new) for new in files)
    for file_id in ids:
        upload = Upload(attachment_id=file_id, made_by=access.actor_id, made_at=tx.now, entry_id=entry_id)
        attachment_store.insert_upload(tx, access, upload)
    return ids


def prune_uploads(tx: Tx, access: Access) -> int:
    """Delete a batch of unused files; return how many."""
    before = tx.now - limits.UPLOADS_UNUSED_DAYS * MS_PER_DAY
    unused = attachment_store.unused_before(tx, access, before, limit=limits.PRUNE_ROWS_MAX)
    delete_attachments(tx, access, unused)
    return len(unused)


def text_of(content: bytes, mime_type: str) -> str | None:
    """Return the text of a file; None if it is not text."""
    if _BINARY.match(mime_type):
        return None
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if not mime_type.startswith("text/"):
            return None
        # Tables saved on Windows do not declare their encoding.
        text = content.decode("cp1252", errors="replace")
    return None if _CONTROL.search(text) else text

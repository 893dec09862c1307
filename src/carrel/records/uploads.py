"""Files that are uploaded before the thread message that uses them; each is used by at most one message."""

from carrel.kernel import MS_PER_DAY, Access, Code, NewAttachment, Refusal, clip, invalid, limits, one_line
from carrel.records import upload_store
from carrel.records.attachment_store import AttachmentHead, attachment_heads, delete_attachments, insert_attachment
from carrel.records.upload_store import Upload
from carrel.storage import Tx


def keep_file(tx: Tx, access: Access, new: NewAttachment, made_by: str) -> AttachmentHead:
    """Keep somebody's file until a message uses it; an unused one is deleted later."""
    if len(new.content) > limits.ATTACHMENT_BYTES_MAX:
        raise Refusal(Code.TOO_LARGE, f"A file has at most {limits.ATTACHMENT_BYTES_MAX} bytes.", field="file")
    if upload_store.count_unused(tx, access, made_by) >= limits.UPLOADS_UNUSED_MAX:
        waiting = f"{limits.UPLOADS_UNUSED_MAX} files of yours wait for a message already"
        message = f"{waiting}; use them first, or try again tomorrow."
        raise Refusal(Code.LIMIT_REACHED, message)
    named = NewAttachment(
        name=clip(one_line(new.name), limits.NAME_CHARS_MAX) or "file", mime_type=new.mime_type, content=new.content
    )
    file_id = insert_attachment(tx, access, named)
    upload_store.insert_upload(tx, access, Upload(attachment_id=file_id, made_by=made_by, made_at=tx.now))
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
        if not upload_store.use_upload(tx, access, name, made_by, task_id=task_id, entry_id=entry_id):
            raise invalid("attachmentIds", f"There is no attachment '{name[:80]}' of yours that is not used already.")


def attach(tx: Tx, access: Access, files: tuple[NewAttachment, ...], entry_id: str) -> tuple[str, ...]:
    """Keep the files that came with a message; whoever may see the message's entry may read them."""
    ids = tuple(insert_attachment(tx, access, new) for new in files)
    for file_id in ids:
        upload = Upload(attachment_id=file_id, made_by=access.actor_id, made_at=tx.now, entry_id=entry_id)
        upload_store.insert_upload(tx, access, upload)
    return ids


def prune_uploads(tx: Tx, access: Access) -> int:
    """Delete a batch of unused files; return how many."""
    before = tx.now - limits.UPLOADS_UNUSED_DAYS * MS_PER_DAY
    unused = upload_store.unused_before(tx, access, before, limit=limits.PRUNE_ROWS_MAX)
    delete_attachments(tx, access, unused)
    return len(unused)

"""Files of threads: who may read them."""

from carrel.kernel import Access, Refusal, not_found
from carrel.records import Attachment, attachments_by_id, upload_of
from carrel.storage import Tx
from carrel.work.permissions import actor_of, readable_task


def read_file(tx: Tx, access: Access, file_id: str) -> Attachment:
    """Return a file: its sender may read it, and once it is in a thread everybody who may read the task."""
    upload = upload_of(tx, access, file_id)
    if upload is None:
        raise not_found("attachment")
    if upload.task_id is not None:
        try:
            readable_task(tx, access, upload.task_id)
        except Refusal as refusal:
            raise not_found("attachment") from refusal
    elif upload.made_by != actor_of(tx, access).party_id:
        raise not_found("attachment")
    return attachments_by_id(tx, access, (file_id,))[0]

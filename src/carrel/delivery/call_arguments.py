"""Tool calls whose arguments must not stay in the transcript, such as the contents of files.

A call may have to wait for a person, or survive a restart, before it is made. So its whole arguments are kept beside
the transcript in a file that nobody is shown, and are deleted with the call.
"""

from typing import Any

import msgspec

from carrel.gateway import Call
from carrel.journal import Entry
from carrel.kernel import Access, NewAttachment
from carrel.records import attachments_by_id, delete_attachments, insert_attachment
from carrel.storage import Tx
from carrel.tools import CATALOG


def kept_output(output: list[dict[str, Any]]) -> str:
    """Return a gateway's output as JSON text, with calls' arguments in the form that may be kept."""
    items = [
        item | {"arguments": CATALOG.storable_arguments(str(item.get("name")), str(item.get("arguments", "")))}
        if item.get("type") == "function_call"
        else item
        for item in output
    ]
    return msgspec.json.encode(items).decode()


def keep_arguments(tx: Tx, access: Access, call: Call) -> tuple[str, tuple[str, ...]]:
    """Return a call's arguments for the transcript, and the attachment with the whole if they were shortened."""
    kept = CATALOG.storable_arguments(call.name, call.arguments)
    if kept == call.arguments:
        return kept, ()
    whole = NewAttachment(name="arguments", mime_type="application/json", content=call.arguments.encode())
    return kept, (insert_attachment(tx, access, whole),)


def whole_arguments(tx: Tx, access: Access, call: Entry) -> str:
    """Return the whole arguments of a call that has not been made yet."""
    files = attachments_by_id(tx, access, call.attachment_ids)
    return files[0].content.decode() if files else str((call.details or {})["arguments"])


def forget_arguments(tx: Tx, access: Access, call: Entry) -> None:
    """Delete the whole arguments: the call was made, or never will be."""
    delete_attachments(tx, access, call.attachment_ids)

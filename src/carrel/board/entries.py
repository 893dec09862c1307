"""Reading, changing and deleting entries of the board."""

from typing import Any

from msgspec import UNSET, UnsetType, structs

from carrel.access import readable_space
from carrel.board import store
from carrel.board.digest_store import forget_profile
from carrel.board.digests import forget_quotations
from carrel.board.locations import required_location
from carrel.board.model import Classification, LogChange, LogType
from carrel.board.summaries import summary_of
from carrel.journal import DEFAULT_SPACE, Entry, clean, update_entry
from carrel.journal import delete_entry as erase_entry
from carrel.kernel import Access, Code, Provenance, Refusal, Shape, invalid, iso, not_found
from carrel.kernel.limits import LOG_SUMMARY_CHARS_MAX, MESSAGE_CHARS_MAX
from carrel.records import Attachment, FileShape, attachment_heads, attachments_by_id, delete_attachments, upload_of
from carrel.runs import run_by_id
from carrel.storage import Tx
from carrel.topics import curate_topic
from carrel.work import read_file as read_thread_file


class LogFields(Shape, frozen=True, kw_only=True):
    """What is said of an entry everywhere."""

    id: str
    seq: int
    type: str
    role: str
    content: str
    summary: str | None
    space_id: str
    topic_id: str | None
    task_id: str | None
    session_key: str | None
    related_log_id: str | None
    agent_id: str
    agent_label: str | None
    classification_status: str
    created_at: str


class LogShape(LogFields, frozen=True, kw_only=True):
    """An entry as surfaces show it."""

    type: LogType
    raw: str | UnsetType | None = UNSET
    session_id: str | None
    run_id: str | None
    idempotency_key: str | None
    provenance: Provenance
    source: dict[str, Any]
    classification_status: Classification
    classification_attempts: int
    classification_error: str | None
    attachments: list[FileShape]
    updated_at: str


def readable_entry(tx: Tx, access: Access, entry_id: str) -> Entry:
    """Return an entry that the caller may see; otherwise refuse as not found."""
    if (entry := store.entry_in_view(tx, access, entry_id)) is None:
        raise not_found("entry")
    return entry


def change_entry(tx: Tx, access: Access, entry_id: str, change: LogChange) -> Entry:
    """Change what an entry says or where it belongs; an entry sorted by a person counts as classified."""
    entry = readable_entry(tx, access, entry_id)
    given: dict[str, Any] = {}
    if change.content is not UNSET:
        check_length("content", change.content, MESSAGE_CHARS_MAX)
        given["content"] = clean(change.content)
        # The summary must not keep what the entry no longer says.
        given["summary"] = None if entry.summary is None else summary_of(given["content"])
    if change.summary is not UNSET:
        check_length("summary", change.summary or "", LOG_SUMMARY_CHARS_MAX)
        given["summary"] = None if change.summary is None else clean(change.summary)
    moved = _moved(tx, access, entry, change)
    if moved:
        given |= moved | {"classification": "classified", "classification_error": None}
    if change.classification is not UNSET:
        given |= {"classification": change.classification, "classification_attempts": 0, "classification_error": None}
    if moved or "content" in given:
        forget_quotations(tx, access, [entry])
    for topic_id in sorted(filter(None, {entry.topic_id, moved["topic_id"]})) if "topic_id" in moved else ():
        # A person has sorted it, which overrides the classifier for good.
        curate_topic(tx, access, topic_id)
        forget_profile(tx, access, topic_id)
    return update_entry(tx, access, structs.replace(entry, **given)) if given else entry


def _moved(tx: Tx, access: Access, entry: Entry, change: LogChange) -> dict[str, Any]:
    """The new location of an entry; empty if it stays."""
    given: dict[str, Any] = {}
    if change.task_id is not UNSET or change.topic_id is not UNSET:
        task_id = change.task_id if change.task_id is not UNSET else _task_of(tx, access, entry, change.topic_id)
        topic_id = entry.topic_id if change.topic_id is UNSET else change.topic_id
        if entry.task_view is not None and task_id != entry.task_id:
            raise invalid("taskId", "A message of a thread stays with its task.")
        location = required_location(tx, access, task_id, topic_id)
        given = {"task_id": location.task_id, "topic_id": location.topic_id, "space_id": location.stored_space_id}
    if change.space_id is not UNSET:
        given["space_id"] = readable_space(tx, access, change.space_id, field="spaceId").id
    return given


def _task_of(tx: Tx, access: Access, entry: Entry, topic_id: str | UnsetType | None) -> str | None:
    """The task of an entry that gets another topic: kept only if it belongs to that topic."""
    if entry.task_id is None or topic_id is UNSET:
        return None
    return entry.task_id if required_location(tx, access, entry.task_id, None).topic_id == topic_id else None


def delete_entry(tx: Tx, access: Access, entry_id: str) -> None:
    """Delete an entry; not one of a running run, which needs it to continue."""
    entry = readable_entry(tx, access, entry_id)
    run = run_by_id(tx, access, entry.run_id) if entry.run_id is not None else None
    if run is not None and run.ended_at is None:
        raise Refusal(Code.CONFLICT, f"The run {run.id} has not ended; cancel it, or wait until it has.")
    erase_entry(tx, access, entry)
    delete_attachments(tx, access, entry.attachment_ids)


def read_file(tx: Tx, access: Access, file_id: str) -> Attachment:
    """Return a file of an entry or a thread that the caller may see."""
    upload = upload_of(tx, access, file_id)
    if upload is None or upload.entry_id is None:
        return read_thread_file(tx, access, file_id)
    if store.entry_in_view(tx, access, upload.entry_id) is None:
        raise not_found("attachment")
    return attachments_by_id(tx, access, (file_id,))[0]


def log_shapes(tx: Tx, access: Access, entries: list[Entry], *, raw: bool = False) -> list[LogShape]:
    """Return entries as surfaces show them."""
    raws = store.raws_of(tx, access, [entry.id for entry in entries]) if raw else {}
    named = tuple({name for entry in entries for name in entry.attachment_ids})
    files = {head.id: head for head in attachment_heads(tx, access, named)} if named else {}
    return [log_shape(entry, files, raws.get(entry.id) if raw else UNSET) for entry in entries]


def log_shape(entry: Entry, files: dict[str, FileShape], raw: str | UnsetType | None = UNSET) -> LogShape:
    """Return an entry as surfaces show it, with its files among the given ones."""
    own = {"channel": entry.channel, "sessionKey": entry.session_key, "messageId": entry.message_id}
    return LogShape.of(
        entry,
        raw=raw,
        space_id=entry.space_id or DEFAULT_SPACE,
        related_log_id=entry.related_id,
        idempotency_key=(entry.details or {}).get("idempotencyKey"),
        agent_id=entry.author,
        source=own | (entry.source or {}),
        classification_status=entry.classification,
        attachments=[files[name] for name in entry.attachment_ids if name in files],
        updated_at=iso(entry.updated_at or entry.created_at),
    )


def check_length(field: str, text: str | None, chars_max: int) -> None:
    if text is not None and len(text) > chars_max:
        raise Refusal(Code.TOO_LONG, f"`{field}` has at most {chars_max} characters.", field=field)

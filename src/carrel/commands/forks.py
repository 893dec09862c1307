"""Forks: a new chat that starts with what was said in a session up to one entry.

Only what the caller may read there is copied; the chat is always the caller's own and private.
Runs, tasks, topics and memory of the session stay with it.
"""

from typing import Any

from msgspec import structs

from carrel.agents import agent_by_id
from carrel.chats import fresh_key
from carrel.delivery import TOLD_DETAILS
from carrel.journal import Entry, NewEntry, append_entry, entries_by_id, entries_of_session
from carrel.kernel import Access, Code, NewAttachment, Refusal, SessionKey, not_found
from carrel.kernel.limits import FORKED_ENTRIES_MAX, FORKED_FILE_BYTES_MAX
from carrel.records import attach, attachment_heads, attachments_by_id
from carrel.sessions import Lane, LaneChange, Session, change_lane, find_lane, make_lane, open_generation
from carrel.storage import Tx
from carrel.visibility import entries_seen

# The detail of a copy that names its original.
COPIED_FROM = "copiedFrom"
_KEPT = (
    "type", "role", "content", "author", "provenance", "agent_id", "channel", "author_kind", "agent_label", "summary",
    "source", "created_at",
)  # fmt: skip


def fork(tx: Tx, access: Access, reference: str, entry_id: str | None = None, name: str | None = None) -> Lane:
    """Make a chat with the same agent that starts with a session's transcript, all of it or up to an entry."""
    lane, session = find_lane(tx, access, reference)
    entries = _transcript(tx, access, lane, session, entry_id)
    agent = agent_by_id(tx, access, lane.agent_id)
    assert agent is not None, "a lane always has an agent"
    key = fresh_key(tx, access, "web", agent.slug)
    made = make_lane(tx, access, key)
    if name is not None:
        made = change_lane(tx, access, key, LaneChange(display_name=name))
    session = open_generation(tx, access, key)
    steps: dict[tuple[str | None, Any], int] = {}
    for entry in entries:
        new = _copy(entry, key, session.id, steps, tx.new_id("ent"))
        append_entry(tx, access, _with_files(tx, access, entry, new))
    return made


def _transcript(tx: Tx, access: Access, lane: Lane, session: Session | None, entry_id: str | None) -> list[Entry]:
    """Return what the caller may read of a generation up to an entry, oldest first; if that is too long, its end."""
    if entry_id is None:
        session_id, before = None if session is None else session.id, None
    else:
        last = next(iter(entries_by_id(tx, access, [entry_id])), None)
        if last is None or last.key != lane.key or last.session_id is None:
            raise not_found("entry")
        session_id, before = last.session_id, last.seq + 1
    if session_id is None:
        return []
    read = entries_of_session(tx, access, session_id, limit=FORKED_ENTRIES_MAX, before=before)
    seen = entries_seen(tx, access, [entry.id for entry in read])
    if entry_id is not None and entry_id not in seen:
        raise not_found("entry")
    entries = [entry for entry in read if entry.id in seen]
    _require_small(tx, access, entries)
    return entries


def _require_small(tx: Tx, access: Access, entries: list[Entry]) -> None:
    heads = attachment_heads(tx, access, tuple(name for entry in entries for name in _files_of(entry)))
    if sum(head.size_bytes for head in heads) > FORKED_FILE_BYTES_MAX:
        most = FORKED_FILE_BYTES_MAX // (1024 * 1024)
        message = f"The files up to this entry have more than {most} MiB; fork from an earlier entry."
        raise Refusal(Code.TOO_LARGE, message, field="entryId")


def _copy(
    entry: Entry, key: SessionKey, session_id: str, steps: dict[tuple[str | None, Any], int], new_id: str
) -> NewEntry:  # fmt: skip
    # The task, plan and thread files that its run was given are not part of the conversation.
    kept = {name: value for name, value in (entry.details or {}).items() if name not in TOLD_DETAILS}
    details = kept | {COPIED_FROM: entry.id}
    if "step" in details:
        # A step is numbered within its run, and copies belong to no run.
        details["step"] = steps.setdefault((entry.run_id, details["step"]), len(steps) + 1)
    same = {name: getattr(entry, name) for name in _KEPT}
    return NewEntry(id=new_id, key=str(key), session_id=session_id, details=details, **same)


def _files_of(entry: Entry) -> tuple[str, ...]:
    # A call's file holds its arguments and is not for readers.
    return () if entry.role == "toolCall" else entry.attachment_ids


def _with_files(tx: Tx, access: Access, entry: Entry, new: NewEntry) -> NewEntry:
    files = tuple(
        NewAttachment(name=file.name, mime_type=file.mime_type, content=file.content)
        for file in attachments_by_id(tx, access, _files_of(entry))
    )
    if not files:
        return new
    assert new.id is not None, "a copy is given its id"
    return structs.replace(new, attachment_ids=attach(tx, access, files, new.id))

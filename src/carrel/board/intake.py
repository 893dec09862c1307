"""Intake: entries that people, programs and agents send to the board, each stored once, where it belongs."""

from hashlib import sha256
from typing import Any, NamedTuple

from msgspec import Struct, structs, to_builtins

from carrel.board import store
from carrel.board.entries import check_length, log_shapes
from carrel.board.filters import CRON_CHANNEL, is_subagent_key, verdict
from carrel.board.locations import board_key, link_spawned, location_of, session_of
from carrel.board.model import PERSON, Location, NewLog
from carrel.board.own_request_store import own_verdict
from carrel.journal import Entry, NewEntry, append_once, clean, entries_by_id
from carrel.kernel import MS_PER_MINUTE, Access, Code, Provenance, Refusal, SessionKey, invalid, is_control_text, limits
from carrel.records import use_files
from carrel.sessions import lane_of, open_session_of
from carrel.storage import Tx
from carrel.work import actor_of


class _Said(Struct, frozen=True, kw_only=True):
    """Who said something, and who caused it."""

    author: str
    role: str
    author_kind: Any
    provenance: Provenance


class Recorded(NamedTuple):
    """The stored entry, or the earlier one that it repeats."""

    entry: Entry
    is_duplicate: bool

    def shown(self, tx: Tx, access: Access) -> dict[str, Any]:
        """Return what the sender sees of the entry: only its id, if it may not read it.

        Message ids and idempotency keys can be guessed, and are shared by a whole account.
        """
        if self.is_duplicate and store.entry_in_view(tx, access, self.entry.id) is None:
            return {"id": self.entry.id}
        shape: dict[str, Any] = to_builtins(log_shapes(tx, access, [self.entry])[0])
        return shape


def record(tx: Tx, access: Access, log: NewLog) -> Recorded:
    """Store a sent entry where it belongs, unless it repeats a stored one."""
    check_log(access, log)
    key, bucket = session_of(tx, access, log.source)
    said = _said(tx, access, log, bucket or key)
    log = _tied(tx, access, log)
    location = location_of(tx, access, log, bucket or key)
    dedupe = _mark(log, said)
    known = _repeated(tx, access, log, said, dedupe) or _echoed(tx, access, log, said, key, location)
    if known is not None:
        return Recorded(known, is_duplicate=True)
    entry = _entry(tx, access, log, said, key, bucket, location)
    ruled = verdict(entry) or own_verdict(tx, access, entry)
    if ruled is not None:
        entry = structs.replace(entry, classification=ruled[0], classification_error=ruled[1])
    elif log.type == "note" and (entry.topic_id or entry.task_id):
        # A note is sorted by its author.
        entry = structs.replace(entry, classification="classified")
    if (written := append_once(tx, access, structs.replace(entry, dedupe=dedupe))) is None:
        # A concurrent request stored it, or another entry has the same id.
        if (known := _repeated(tx, access, log, said, dedupe)) is None:
            raise Refusal.of_taken_id(log.id)
        return Recorded(known, is_duplicate=True)
    if log.attachment_ids:
        use_files(tx, access, actor_of(tx, access).party_id, log.attachment_ids, entry_id=written.id)
    link_spawned(tx, access, written, log.raw)
    return Recorded(written, is_duplicate=False)


def check_log(access: Access, log: NewLog) -> None:
    """Refuse what the caller, or anybody, may not send."""
    if not access.is_person and access.kind != "system":
        access.require("agent", "run")
        if log.type != "note" or log.related_id is None or log.agent_id not in (None, access.agent_id):
            message = "An agent may send notes about an entry: type note, with relatedLogId."
            raise Refusal(Code.FORBIDDEN, message)
        check_length("content", log.content, limits.NOTE_CHARS_MAX)
    if not log.content.strip() and not log.attachment_ids:
        raise invalid("content", "An entry needs some text.")
    if len(log.attachment_ids) > limits.ATTACHMENTS_MAX:
        message = f"An entry has at most {limits.ATTACHMENTS_MAX} attachments."
        raise Refusal(Code.LIMIT_REACHED, message, field="attachmentIds")
    check_length("content", log.content, limits.MESSAGE_CHARS_MAX)
    check_length("summary", log.summary, limits.LOG_SUMMARY_CHARS_MAX)
    check_length("raw", log.raw, limits.LOG_RAW_CHARS_MAX)


def _tied(tx: Tx, access: Access, log: NewLog) -> NewLog:
    """An entry about another one belongs with it, unless it says otherwise."""
    if log.related_id is None:
        return log
    if (related := store.entry_in_view(tx, access, log.related_id)) is None:
        raise invalid("relatedLogId", f"There is no entry '{log.related_id[:80]}'.")
    if log.topic_id is not None or log.task_id is not None:
        return log
    space_id = log.space_id or related.space_id
    return structs.replace(log, topic_id=related.topic_id, task_id=related.task_id, space_id=space_id)


def _entry(
    tx: Tx, access: Access, log: NewLog, said: _Said, key: str | None, bucket: str | None, location: Location
) -> NewEntry:  # fmt: skip
    opened = open_session_of(tx, access, key) if key is not None and log.type == "conversation" else None
    sent_under = {} if log.idempotency_key is None else {"idempotencyKey": log.idempotency_key}
    return NewEntry(
        id=log.id,
        type=log.type,
        role=said.role,
        content=clean(log.content),
        summary=None if log.summary is None else clean(log.summary),
        raw=log.raw,
        author=said.author,
        author_kind=said.author_kind,
        agent_id=said.author if said.author_kind == "agent" else None,
        agent_label=log.agent_label,
        provenance=said.provenance,
        key=key,
        bucket=bucket,
        session_id=None if opened is None else opened.id,
        message_id=log.source.message_id,
        channel=log.source.channel,
        topic_id=location.topic_id,
        task_id=location.task_id,
        space_id=location.stored_space_id if log.space_id is None else location.space_id,
        related_id=log.related_id,
        source=_source(log, bucket, location),
        details={Entry.REPORTER: access.name or access.actor_id} | sent_under,
        created_at=None if log.created_at is None else min(log.created_at, tx.now),
        attachment_ids=log.attachment_ids,
    )


def _source(log: NewLog, bucket: str | None, location: Location) -> dict[str, Any]:
    sent: dict[str, Any] = {name: value for name, value in to_builtins(log.source).items() if value is not None}
    if (locked := board_key(bucket)) is not None:
        sent |= {"boardScopeKind": "task" if locked.task_id else "topic", "boardScopeLock": True}
    return sent | location.scope()


def _said(tx: Tx, access: Access, log: NewLog, session_key: str | None) -> _Said:
    """Who said it. Each kind of message has one author, whatever a program claims.

    Callers speak only for themselves; what they say of others is their report.
    """
    author = log.agent_id or access.agent_id or PERSON
    reported = Provenance(kind="reported", by=access.actor_id)
    if log.type == "conversation" and author == PERSON:
        if is_control_text(clean(log.content)) or log.source.channel == CRON_CHANNEL:
            return _Said(author="system", role="system", author_kind="system", provenance=reported)
        if is_subagent_key(session_key):
            # The agent that spawned a sub-agent writes its messages.
            parent = _parent(tx, access, session_key or "")
            return _Said(author=parent, role="user", author_kind="agent", provenance=reported)
    kind = "user" if author == PERSON else "agent"
    own = Provenance(kind="external_user" if kind == "user" else "internal_system", actor=access.actor_id)
    is_own = author == (access.agent_id or PERSON) and log.agent_label is None
    return _Said(author=author, role=_role(log, kind), author_kind=kind, provenance=own if is_own else reported)


def _parent(tx: Tx, access: Access, session_key: str) -> str:
    """The agent that spawned a sub-agent's session; for another system's session, the one in its key."""
    try:
        key = SessionKey.parse(session_key)
    except Refusal:
        return "system"
    lane = lane_of(tx, access, key)
    return SessionKey.stored(lane.spawned_by).agent if lane is not None and lane.spawned_by else key.agent


def _role(log: NewLog, kind: str) -> str:
    if log.type == "conversation":
        return "user" if kind == "user" else "assistant"
    if log.type == "action":
        return "toolCall" if log.content.startswith("Tool call:") else "toolResult"
    return "system"


def _mark(log: NewLog, said: _Said) -> str | None:
    """The key by which a repeated entry is recognised; None if equal entries are distinct or have a message id."""
    if log.idempotency_key is not None:
        return NewLog.marked(log.idempotency_key)
    source = log.source
    if source.message_id is not None or source.request_id is None:
        return None
    parts = ("request", log.type, said.author, source.request_id, clean(log.content).strip())
    return sha256("\x1f".join(parts).encode()).hexdigest()


def _repeated(tx: Tx, access: Access, log: NewLog, said: _Said, dedupe: str | None) -> Entry | None:
    found = store.entry_once(tx, access, dedupe) if dedupe is not None else None
    if found is None and log.source.message_id is not None:
        found = store.entry_of_message(tx, access, log.type, said.author, log.source.channel, log.source.message_id)
    return None if found is None else entries_by_id(tx, access, (found,))[0]


def _echoed(tx: Tx, access: Access, log: NewLog, said: _Said, key: str | None, location: Location) -> Entry | None:
    """The message that was said here already, if the host it was passed on to reports it or its answer."""
    if log.type != "conversation" or (key is None and location.task_id is None):
        return None
    since, text = tx.now - limits.ECHO_MINUTES * MS_PER_MINUTE, clean(log.content)
    task_id, limit = location.task_id, limits.ECHO_ENTRIES_MAX
    found = store.entry_said_here(tx, access, key, task_id, said.role, text, since, limit=limit)
    return None if found is None else entries_by_id(tx, access, (found,))[0]

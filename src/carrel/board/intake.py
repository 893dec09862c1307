"""What comes in: entries that people, programs and agents send to the board, each stored once and in its place."""

from hashlib import sha256
from typing import Any

from msgspec import Struct, structs, to_builtins

from carrel.board import store
from carrel.board.filters import CRON_CHANNEL, is_control, is_subagent_key, verdict
from carrel.board.keys import board_key, effective_key
from carrel.board.model import PERSON, LogSource, NewLog, Place
from carrel.journal import DEFAULT_SPACE, Entry, NewEntry, append_entry, clean, entries_by_id
from carrel.kernel import Access, Code, Provenance, Refusal, SessionKey, not_found
from carrel.sessions import find_session, lane_of, open_session_of
from carrel.storage import Tx


class _Said(Struct, frozen=True, kw_only=True):
    """Who said something, and by whose doing."""

    author: str
    role: str
    author_kind: Any
    provenance: Provenance


def record(tx: Tx, access: Access, log: NewLog) -> tuple[Entry, bool]:
    """Store an entry that was sent, in its place; or return the stored one that it repeats, and True."""
    key, bucket = _session(tx, access, log.source)
    said = _said(access, log, bucket or key)
    dedupe = _mark(log, said)
    known = _repeated(tx, access, log, said, dedupe)
    if known is not None:
        return known, True
    entry = _entry(tx, access, log, said, key, bucket, _place(tx, access, log))
    ruled = verdict(entry)
    if ruled is not None:
        entry = structs.replace(entry, classification=ruled[0], classification_error=ruled[1])
    return append_entry(tx, access, structs.replace(entry, dedupe=dedupe)), False


def _entry(
    tx: Tx, access: Access, log: NewLog, said: _Said, key: str | None, bucket: str | None, place: Place
) -> NewEntry:  # fmt: skip
    opened = open_session_of(tx, access, key) if key is not None and log.type == "conversation" else None
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
        topic_id=place.topic_id,
        task_id=place.task_id,
        # The default space that nobody gave says nothing about where an entry belongs.
        space_id=None if place.space_id == DEFAULT_SPACE and log.space_id is None else place.space_id,
        related_id=log.related_id,
        source=_source(log, place),
        details=None if log.idempotency_key is None else {"idempotencyKey": log.idempotency_key},
        created_at=None if log.created_at is None else min(log.created_at, tx.now),
        attachment_ids=log.attachment_ids,
    )


def _source(log: NewLog, place: Place) -> dict[str, Any]:
    sent: dict[str, Any] = {name: value for name, value in to_builtins(log.source).items() if value is not None}
    locked = board_key(log.source.session_key)
    if locked is not None:
        sent |= {"boardScopeKind": "task" if locked.task_id else "topic", "boardScopeLock": True}
    return sent | place.scope()


def _session(tx: Tx, access: Access, source: LogSource) -> tuple[str | None, str | None]:
    """The lane that something was said in; and its bucket: the session key as sent, where that names no lane.

    A key of the board is a bucket in any case, since its lane may be opened later.
    """
    sent = effective_key(source.session_key, source.conversation_id, source.thread_id, source.channel_id)
    if sent is None:
        return None, None
    lane = lane_meant(tx, access, sent)
    return lane, sent if lane is None or board_key(sent) is not None else None


def lane_meant(tx: Tx, access: Access, session_key: str) -> str | None:
    """Return the key of the lane that a session key names; None for an opaque one, Refusal for a lane out of view."""
    reference = session_key.partition("|")[0]
    try:
        found = find_session(tx, access, reference)
    except Refusal as refusal:
        if _is_lane(tx, access, reference):
            raise Refusal(Code.FORBIDDEN, "This is a session that you may not see.", field="sessionKey") from refusal
        return None
    return None if found.lane is None else found.lane.key


def _is_lane(tx: Tx, access: Access, reference: str) -> bool:
    try:
        return lane_of(tx, access, SessionKey.parse(reference)) is not None
    except Refusal:
        return False


def _place(tx: Tx, access: Access, log: NewLog) -> Place:
    """Where an entry belongs: as its board key says, else its source, else the ids it came with."""
    named, source = board_key(log.source.session_key), log.source
    if named is not None:
        place = _known_place(tx, access, named.task_id, named.topic_id)
    elif source.board_scope_task_id or source.board_scope_topic_id:
        place = _known_place(tx, access, source.board_scope_task_id, source.board_scope_topic_id)
    else:
        place = _known_place(tx, access, log.task_id, log.topic_id)
        _check_named(log, place)
    return structs.replace(place, space_id=_space(tx, access, log) or place.space_id)


def _known_place(tx: Tx, access: Access, task_id: str | None, topic_id: str | None) -> Place:
    """The place of a task or topic that exists: a task decides about its topic, and both about the space."""
    topic = store.place_of_topic(tx, access, topic_id) if topic_id is not None else None
    task = store.place_of_task(tx, access, task_id) if task_id is not None else None
    if task is not None and task.topic_id is None and topic is not None:
        return structs.replace(task, topic_id=topic.topic_id)
    return task or topic or Place()


def _check_named(log: NewLog, place: Place) -> None:
    if log.task_id is not None and place.task_id is None:
        raise not_found("task")
    if log.topic_id is not None and place.topic_id is None:
        raise not_found("topic")


def _space(tx: Tx, access: Access, log: NewLog) -> str | None:
    given = log.space_id or log.source.board_scope_space_id
    if given is not None and not store.space_exists(tx, access, given):
        if log.space_id is not None:
            raise not_found("space")
        return None
    return given


def _said(access: Access, log: NewLog, session_key: str | None) -> _Said:
    """Who said it. Each kind of message has one writer, whatever a program says of it."""
    author = log.agent_id or access.agent_id or PERSON
    text = clean(log.content).strip()
    if log.type == "conversation" and author == PERSON:
        if is_control(text) or log.source.channel == CRON_CHANNEL:
            return _by_system("heartbeat")
        if is_subagent_key(session_key):
            # What a sub-agent is told comes from the agent that has spawned it.
            provenance = Provenance(kind="spawn")
            return _Said(author=_parent(session_key), role="user", author_kind="agent", provenance=provenance)
        provenance = Provenance(kind="external_user", actor=access.actor_id)
        return _Said(author=PERSON, role="user", author_kind="user", provenance=provenance)
    kind = "user" if author == PERSON else "agent"
    provenance = Provenance(kind="external_user" if kind == "user" else "internal_system", actor=access.actor_id)
    return _Said(author=author, role=_role(log), author_kind=kind, provenance=provenance)


def _by_system(kind: Any) -> _Said:
    return _Said(author="system", role="system", author_kind="system", provenance=Provenance(kind=kind))


def _parent(session_key: str | None) -> str:
    """The agent in whose name a sub-agent's session was opened."""
    head, _, tail = (session_key or "").partition(":")
    return tail.partition(":")[0] if head == "agent" else "system"


def _role(log: NewLog) -> str:
    if log.type == "conversation":
        return "assistant"
    if log.type == "action":
        return "toolCall" if log.content.startswith("Tool call:") else "toolResult"
    return "system"


def _mark(log: NewLog, said: _Said) -> str | None:
    """What makes an entry that is sent again the same one; None where two equal ones are two."""
    if log.idempotency_key is not None:
        return f"key:{log.idempotency_key}"
    source = log.source
    if source.message_id is not None:
        parts = ("message", log.type, said.author, source.channel or "", source.message_id)
    elif source.request_id is not None:
        parts = ("request", log.type, said.author, source.request_id, clean(log.content).strip())
    else:
        return None
    return sha256("\x1f".join(parts).encode()).hexdigest()


def _repeated(tx: Tx, access: Access, log: NewLog, said: _Said, dedupe: str | None) -> Entry | None:
    found = store.entry_once(tx, access, dedupe) if dedupe is not None else None
    if found is None and log.source.message_id is not None:
        found = store.entry_of_message(tx, access, log.type, said.author, log.source.channel, log.source.message_id)
    return None if found is None else entries_by_id(tx, access, (found,))[0]

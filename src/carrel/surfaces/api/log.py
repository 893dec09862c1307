"""Entries of the board: sent, listed, changed and deleted; notes, and entries that are stored later.

Agents send notes about entries and read what they may see; the room of the board decides that.
"""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, structs

from carrel.access import effective_spaces
from carrel.board import (
    Classification,
    LogChange,
    LogFilter,
    LogShape,
    LogSource,
    LogType,
    NewLog,
    accept,
    change_entry,
    delete_entry,
    is_unrecorded,
    list_entries,
    log_shapes,
    named_session,
    readable_entry,
    record,
)
from carrel.kernel import PEOPLE, Access, Grammar, invalid
from carrel.kernel.limits import (
    ATTACHMENTS_MAX,
    IDEMPOTENCY_KEY_CHARS_MAX,
    INGEST_ENTRIES_MAX,
    LOG_RAW_CHARS_MAX,
    LOG_RELATED_MAX,
    LOG_ROWS_DEFAULT,
    LOG_ROWS_MAX,
    LOG_SUMMARY_CHARS_MAX,
    MESSAGE_CHARS_MAX,
    NAME_CHARS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
)
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor, read_moment
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, Reply, endpoint
from carrel.surfaces.api.fields import Cursor, Moment
from carrel.surfaces.http.described import NO_NUL, SOME_TEXT

Content = Annotated[str, Meta(extra_json_schema={"maxLength": MESSAGE_CHARS_MAX, "pattern": SOME_TEXT})]
Summary = Annotated[str, Meta(extra_json_schema={"maxLength": LOG_SUMMARY_CHARS_MAX, "pattern": NO_NUL})]
Raw = Annotated[str, Meta(extra_json_schema={"maxLength": LOG_RAW_CHARS_MAX, "pattern": NO_NUL})]
ClientId = Annotated[str, Meta(pattern=f"^{Grammar.CLIENT_ID}$")]


def _up_to(chars_max: int) -> Meta:
    return Meta(min_length=1, max_length=chars_max, extra_json_schema={"pattern": NO_NUL})


Name = Annotated[str, _up_to(NAME_CHARS_MAX)]
SessionText = Annotated[str, _up_to(SESSION_REFERENCE_CHARS_MAX)]
Key = Annotated[str, _up_to(IDEMPOTENCY_KEY_CHARS_MAX)]
Files = Annotated[tuple[Name, ...], Meta(extra_json_schema={"maxItems": ATTACHMENTS_MAX})]
# Several ids with commas between them.
Names = Annotated[str, _up_to(LOG_RELATED_MAX * NAME_CHARS_MAX)]


class SourceBody(In, frozen=True, kw_only=True):
    """Where something was said, in the words of the program that sends it."""

    channel: Name | None = None
    session_key: SessionText | None = None
    message_id: SessionText | None = None
    request_id: SessionText | None = None
    conversation_id: SessionText | None = None
    thread_id: Name | None = None
    channel_id: Name | None = None
    board_scope_topic_id: Name | None = None
    board_scope_task_id: Name | None = None
    board_scope_space_id: Name | None = None
    board_scope_kind: Name | None = None
    board_scope_lock: bool | None = None


class NoteBody(In, frozen=True, kw_only=True):
    """A new note."""

    content: Content
    id: ClientId | None = None
    summary: Summary | None = None
    raw: Raw | None = None
    topic_id: Name | None = None
    task_id: Name | None = None
    space_id: Name | None = None
    related_log_id: Name | None = None
    agent_id: Name | None = None
    agent_label: Name | None = None
    source: SourceBody | None = None
    idempotency_key: Key | None = None
    created_at: Moment | None = None
    attachment_ids: Files = ()


class LogBody(NoteBody, frozen=True, kw_only=True):
    """A new entry; `agentId` is who said it, `user` for a person."""

    type: LogType


class NotesBody(NoteBody, frozen=True, kw_only=True):
    """A new note; its type may be given."""

    type: Annotated[str, Meta(pattern="^note$")] = "note"


class IngestBody(NoteBody, frozen=True, kw_only=True):
    """One entry to be stored soon, as it is sent to the log, or several in `entries`."""

    type: LogType | None = None
    content: Content | None = None  # type: ignore[assignment]
    entries: Annotated[tuple[LogBody, ...], Meta(min_length=1, max_length=INGEST_ENTRIES_MAX)] | None = None


class LogPatch(In, frozen=True, kw_only=True):
    """Changes of an entry; fields left out stay as they are."""

    topic_id: Name | UnsetType | None = UNSET
    task_id: Name | UnsetType | None = UNSET
    space_id: Name | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    summary: Summary | UnsetType | None = UNSET
    classification_status: Classification | UnsetType = UNSET


class RawQuery(In, frozen=True, kw_only=True):
    """Whether the text that an entry was made from is shown."""

    include_raw: bool = False


class NotesQuery(RawQuery, frozen=True, kw_only=True):
    """Which notes are listed, and which page of them."""

    topic_id: Name | None = None
    task_id: Name | None = None
    session_key: SessionText | None = None
    run_id: Name | None = None
    related_log_id: Names | None = None
    classification_status: Classification | None = None
    space_id: Name | None = None
    allowed_space_ids: Names | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class LogQuery(NotesQuery, frozen=True, kw_only=True):
    """Which entries are listed, and which page of them."""

    type: LogType | None = None


class LogList(Out, frozen=True, kw_only=True):
    """A page of entries, newest first."""

    logs: list[LogShape]
    next_cursor: str | None


class OneLog(Out, frozen=True, kw_only=True, omit_defaults=True):
    """One entry; `duplicate` says that it was stored before, `ignored` that its session is not recorded."""

    log: LogShape | None
    duplicate: bool = False
    ignored: bool = False


class Accepted(Out, frozen=True, kw_only=True):
    """How many entries will be stored, and an id for each."""

    accepted: int
    ingest_ids: list[str]


@endpoint("GET", "/api/log", answers={200: LogList}, query=LogQuery)
async def list_log(call: Call[None, LogQuery]) -> LogList:
    """List the entries that the caller may see, newest first."""
    return await _listed(call, call.query.type)


@endpoint("GET", "/api/notes", answers={200: LogList}, query=NotesQuery)
async def list_notes(call: Call[None, NotesQuery]) -> LogList:
    """List the notes that the caller may see, newest first."""
    return await _listed(call, "note")


async def _listed(call: Call[None, Any], kind: str | None) -> LogList:
    query, limit = call.query, clamp(call.query.limit, LOG_ROWS_DEFAULT, LOG_ROWS_MAX)
    position = read_cursor(query.cursor, tuple[int])

    def work(tx: LongTx, access: Access) -> LogList:
        wanted = _filter(tx, access, query, kind)
        found = list_entries(tx, access, wanted, before=position[0] if position else None, limit=limit + 1)
        page, following = cut(found, limit, lambda entry: (entry.seq,))
        return LogList(logs=log_shapes(tx, access, page, raw=query.include_raw), next_cursor=following)

    return await call.long_read(work)


def _filter(tx: Tx, access: Access, query: NotesQuery, kind: str | None) -> LogFilter:
    key, session_id = (None, None) if query.session_key is None else named_session(tx, access, query.session_key)
    related = _names("relatedLogId", query.related_log_id)
    allowed = None if query.allowed_space_ids is None else _names("allowedSpaceIds", query.allowed_space_ids)
    scope = effective_spaces(tx, access, space_id=query.space_id, allowed_ids=allowed)
    return LogFilter(
        topic_id=query.topic_id,
        task_id=query.task_id,
        bucket=None if session_id is not None else query.session_key,
        key=key,
        session_id=session_id,
        run_id=query.run_id,
        related_ids=related,
        type=kind,
        classification=query.classification_status,
        spaces=scope.narrowed_for(access),
    )


def _names(field: str, text: str | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))
    if len(names) > LOG_RELATED_MAX:
        raise invalid(field, f"{field} has at most {LOG_RELATED_MAX} ids.")
    return names


@endpoint("POST", "/api/log", answers={201: OneLog, 200: OneLog}, body=LogBody, creates=True)
async def send_log(call: Call[LogBody, NoQuery]) -> Reply:
    """Store an entry; one that was sent before is answered with the stored one."""
    return await _sent(call, call.body)


@endpoint("POST", "/api/notes", answers={201: OneLog, 200: OneLog}, body=NotesBody, creates=True)
async def send_note(call: Call[NotesBody, NoQuery]) -> Reply:
    """Store a note."""
    return await _sent(call, call.body)


async def _sent(call: Call[Any, NoQuery], body: LogBody | NotesBody) -> Reply:
    log = _new_log(body)

    def work(tx: Tx, access: Access) -> Reply:
        if is_unrecorded(log, call.house.settings.intake):
            return call.promise(tx, Reply(200, OneLog(log=None, ignored=True)))
        entry, repeated = record(tx, access, log)
        shown = OneLog(log=log_shapes(tx, access, [entry])[0], duplicate=repeated)
        return call.promise(tx, Reply(200 if repeated else 201, shown))

    return await call.write(work)


@endpoint("POST", "/api/ingest", answers={202: Accepted}, body=IngestBody, creates=True)
async def ingest(call: Call[IngestBody, NoQuery]) -> Accepted:
    """Accept one or more entries, all or none, and store them soon after, in their order."""
    logs = [_new_log(body) for body in _several(call.body)]

    def work(tx: Tx, access: Access) -> Accepted:
        ids = accept(tx, access, logs, call.house.settings.intake)
        return call.promise(tx, Accepted(accepted=len(ids), ingest_ids=ids))

    return await call.write(work)


def _several(body: IngestBody) -> tuple[LogBody, ...]:
    if body.entries is not None:
        if any(value != default for value, default in _fields(body) if value is not body.entries):
            raise invalid("entries", "Send one entry, or several in `entries`, not both.")
        return body.entries
    if body.type is None or body.content is None:
        raise invalid("type" if body.type is None else "content", "An entry needs a type and content.")
    return (LogBody(**{name: getattr(body, name) for name in LogBody.__struct_fields__}),)


def _fields(body: IngestBody) -> list[tuple[object, object]]:
    return [(getattr(body, field.name), field.default) for field in structs.fields(body)]


def _new_log(body: LogBody | NotesBody) -> NewLog:
    fields = structs.asdict(body)
    moment, source = fields.pop("created_at"), fields.pop("source")
    return NewLog(
        **fields | {"related_id": fields.pop("related_log_id")},
        created_at=None if moment is None else read_moment("createdAt", moment),
        source=LogSource() if source is None else LogSource(**structs.asdict(source)),
    )


@endpoint("GET", "/api/log/{id}", answers={200: OneLog}, query=RawQuery)
async def show_log(call: Call[None, RawQuery]) -> OneLog:
    """Get an entry."""

    def work(tx: Tx, access: Access) -> OneLog:
        entry = readable_entry(tx, access, call.path("id"))
        return OneLog(log=log_shapes(tx, access, [entry], raw=call.query.include_raw)[0])

    return await call.read(work)


@endpoint("PATCH", "/api/log/{id}", answers={200: OneLog}, who=PEOPLE, body=LogPatch)
async def patch_log(call: Call[LogPatch, NoQuery]) -> OneLog:
    """Change what an entry says, or where it belongs."""
    fields = structs.asdict(call.body)
    change = LogChange(classification=fields.pop("classification_status"), **fields)

    def work(tx: Tx, access: Access) -> OneLog:
        return OneLog(log=log_shapes(tx, access, [change_entry(tx, access, call.path("id"), change)])[0])

    return await call.write(work)


@endpoint("DELETE", "/api/log/{id}", answers={204: None}, who=PEOPLE)
async def remove_log(call: Call[None, NoQuery]) -> None:
    """Delete an entry."""
    await call.write(lambda tx, access: delete_entry(tx, access, call.path("id")))

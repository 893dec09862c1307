"""Entries of the board: sent, listed, changed and deleted; notes, and entries that are stored later.

Agents send notes about entries and read what they may see; the room of the board decides that.
"""

from typing import Annotated, Any

from msgspec import Meta, structs

from carrel import board
from carrel.access import effective_spaces
from carrel.kernel import PEOPLE, Access, Grammar, Input, Shape, invalid, limits
from carrel.kernel.fields import Cursor, Moment, Name, Text, at_most, up_to
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import paged
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, Reply, endpoint, one
from carrel.surfaces.api.scope import Scoped, names_in
from carrel.surfaces.http.services import Services

Raw = Annotated[str, up_to(limits.LOG_RAW_CHARS_MAX)]
ClientId = Annotated[str, Meta(pattern=f"^{Grammar.CLIENT_ID}$")]
Key = Annotated[str, Meta(min_length=1, max_length=limits.IDEMPOTENCY_KEY_CHARS_MAX)]
Files = Annotated[tuple[Name, ...], at_most(limits.ATTACHMENTS_MAX)]
# Comma-separated ids.
Names = Annotated[str, Meta(min_length=1, max_length=limits.LOG_RELATED_MAX * limits.NAME_CHARS_MAX)]


class NoteBody(Input, frozen=True, kw_only=True):
    """A new note."""

    content: Text
    id: ClientId | None = None
    summary: board.Summary | None = None
    raw: Raw | None = None
    topic_id: Name | None = None
    task_id: Name | None = None
    space_id: Name | None = None
    related_log_id: Name | None = None
    agent_id: Name | None = None
    agent_label: Name | None = None
    source: board.LogSource | None = None
    idempotency_key: Key | None = None
    created_at: Moment | None = None
    attachment_ids: Files = ()


class LogBody(NoteBody, frozen=True, kw_only=True):
    """A new entry; `agentId` is who said it, `user` for a person."""

    type: board.LogType


class NotesBody(NoteBody, frozen=True, kw_only=True):
    """A new note; its type may be given."""

    type: Annotated[str, Meta(pattern="^note$")] = "note"


class IngestBody(NoteBody, frozen=True, kw_only=True):
    """One entry to be stored soon, as it is sent to the log, or several in `entries`."""

    type: board.LogType | None = None
    content: Text | None = None  # type: ignore[assignment]
    entries: Annotated[tuple[LogBody, ...], Meta(min_length=1, max_length=limits.INGEST_ENTRIES_MAX)] | None = None


class RawQuery(Input, frozen=True, kw_only=True):
    """Whether the text that an entry was made from is shown."""

    include_raw: bool = False


class NotesQuery(Scoped, frozen=True, kw_only=True):
    """Which notes are listed, and which page of them."""

    include_raw: bool = False
    topic_id: Name | None = None
    task_id: Name | None = None
    run_id: Name | None = None
    related_log_id: Names | None = None
    classification_status: board.Classification | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class LogQuery(NotesQuery, frozen=True, kw_only=True):
    """Which entries are listed, and which page of them."""

    type: board.LogType | None = None


class KnownLog(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """An entry that was stored before (`duplicate`), with its `id` alone where the caller may not read it.

    `ignored` says that its session is not recorded.
    """

    log: dict[str, Any] | None
    duplicate: bool = False
    ignored: bool = False


class Accepted(Shape, frozen=True, kw_only=True):
    """How many entries will be stored, and an id for each."""

    accepted: int
    ingest_ids: list[str]


@endpoint("GET", "/api/log", "logs", tool="clawboard_get_log")
def list_log(call: Call[None, LogQuery], tx: LongTx, access: Access) -> Page[board.LogShape]:
    """List the entries that the caller may see, newest first."""
    return _listed(call.query, call.query.type, tx, access)


@endpoint("GET", "/api/notes", "logs", tool="clawboard_get_log")
def list_notes(call: Call[None, NotesQuery], tx: LongTx, access: Access) -> Page[board.LogShape]:
    """List the notes that the caller may see, newest first."""
    return _listed(call.query, "note", tx, access)


def _listed(query: NotesQuery, kind: str | None, tx: LongTx, access: Access) -> Page[board.LogShape]:
    wanted = _filter(tx, access, query, kind)

    def read(at: tuple[int, ...] | None, most: int) -> list[board.LogShape]:
        found = board.list_entries(tx, access, wanted, before=at[0] if at else None, limit=most)
        return board.log_shapes(tx, access, found, raw=query.include_raw)

    return paged(query, tuple[int], read, lambda log: (log.seq,), limits.LOG_ROWS_DEFAULT, limits.LOG_ROWS_MAX)


def _filter(tx: Tx, access: Access, query: NotesQuery, kind: str | None) -> board.LogFilter:
    key, session_id = (None, None) if query.session_key is None else board.named_session(tx, access, query.session_key)
    related = names_in("relatedLogId", query.related_log_id, limits.LOG_RELATED_MAX)
    allowed = None if query.allowed_space_ids is None else names_in("allowedSpaceIds", query.allowed_space_ids)
    scope = effective_spaces(tx, access, space_id=query.space_id, allowed_ids=allowed)
    return board.LogFilter(
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


_SENT = {201: one("log", board.LogShape), 200: KnownLog}


@endpoint("POST", "/api/log", answers=_SENT, creates=True, tool="clawboard_create_note")
def send_log(call: Call[LogBody, NoQuery], tx: Tx, access: Access) -> Reply[dict[str, Any] | KnownLog]:
    """Store an entry; one that was sent before is answered with the stored one."""
    return _sent(call.services, _new_log(call.body), tx, access)


@endpoint("POST", "/api/notes", answers=_SENT, creates=True, tool="clawboard_create_note")
def send_note(call: Call[NotesBody, NoQuery], tx: Tx, access: Access) -> Reply[dict[str, Any] | KnownLog]:
    """Store a note."""
    return _sent(call.services, _new_log(call.body), tx, access)


def _sent(services: Services, log: board.NewLog, tx: Tx, access: Access) -> Reply[dict[str, Any] | KnownLog]:
    if board.is_unrecorded(log, services.settings.intake):
        return Reply(200, KnownLog(log=None, ignored=True))
    recorded = board.record(tx, access, log)
    stored = recorded.shown(tx, access)
    return Reply(200, KnownLog(log=stored, duplicate=True)) if recorded.is_duplicate else Reply(201, stored)


@endpoint("POST", "/api/ingest", status=202, creates=True, tool="clawboard_create_note")
def ingest(call: Call[IngestBody, NoQuery], tx: Tx, access: Access) -> Accepted:
    """Accept one or more entries, all or none, and store them soon after, in their order."""
    body = call.body
    if body.entries is None:
        if body.type is None or body.content is None:
            raise invalid("type" if body.type is None else "content", "An entry needs a type and content.")
        entries: tuple[LogBody, ...] = (LogBody(**{name: getattr(body, name) for name in LogBody.__struct_fields__}),)
    else:
        if any(getattr(body, one.name) != one.default for one in structs.fields(body) if one.name != "entries"):
            raise invalid("entries", "Send one entry, or several in `entries`, not both.")
        entries = body.entries
    ids = board.accept(tx, access, [_new_log(entry) for entry in entries], call.services.settings.intake)
    return Accepted(accepted=len(ids), ingest_ids=ids)


def _new_log(body: LogBody | NotesBody) -> board.NewLog:
    fields = structs.asdict(body)
    fields["source"] = fields["source"] or board.LogSource()
    return board.NewLog(related_id=fields.pop("related_log_id"), **fields)


@endpoint("GET", "/api/log/{id}", "log", tool="clawboard_get_log")
def show_log(call: Call[None, RawQuery], tx: Tx, access: Access) -> board.LogShape:
    """Get an entry."""
    entry = board.readable_entry(tx, access, call.path("id"))
    return board.log_shapes(tx, access, [entry], raw=call.query.include_raw)[0]


@endpoint("PATCH", "/api/log/{id}", "log", who=PEOPLE)
def patch_log(call: Call[board.LogChange, NoQuery], tx: Tx, access: Access) -> board.LogShape:
    """Change what an entry says, or where it belongs."""
    return board.log_shapes(tx, access, [board.change_entry(tx, access, call.path("id"), call.body)])[0]


@endpoint("DELETE", "/api/log/{id}", who=PEOPLE)
def remove_log(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Delete an entry."""
    board.delete_entry(tx, access, call.path("id"))

"""The journal's SQL: entries, events, and how far the feed was pruned."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import structs

from carrel.journal.location_store import leave_spaces, location_from_task, spaces_of_entry
from carrel.journal.model import (
    LOG_FIELDS,
    About,
    DeletedEntry,
    EntriesDeleted,
    Entry,
    Event,
    NewEntry,
    RunsOfEvents,
    TaskView,
    about_lane,
    json_text,
)
from carrel.kernel import Access, Provenance, SessionKey
from carrel.storage import FEED, Table, Tx, in_list, json_column

_CODECS = {
    "details": json_column(dict[str, Any]),
    "provenance": json_column(Provenance),
    "attachment_ids": json_column(tuple[str, ...]),
    "source": json_column(dict[str, Any]),
}
_ENTRIES = Table("entries", Entry, key=("account_id", "seq"), without=("raw",), also=("raw",), codecs=_CODECS)
# Every turn writes entries, so theirs are written without the columns that only the board uses.
_OF_BOARD = (*LOG_FIELDS, "classification", "classification_attempts", "updated_at")
_OF_LANES = Table("entries", Entry, key=("account_id", "seq"), without=_OF_BOARD)
_SELECT_ENTRY = f"SELECT {_ENTRIES.columns} FROM entries"
_EVENTS = Table("events", Event, key=("account_id", "seq"), also=("change",))
_SELECT_EVENT = f"SELECT {_EVENTS.columns} FROM events"
_SPOKEN = "role IN ('user', 'assistant', 'system')"
_BY_TOOLS = "role IN ('toolCall', 'toolResult')"
_IN_VIEW = "task_id = :task_id AND task_view = :view AND seq > :after"
_CUT_RESULT = "CASE role WHEN 'toolResult' THEN substr(content, 1, :result_chars_max) ELSE content END"
_CUT_COLUMNS = ", ".join(_CUT_RESULT if column == "content" else column for column in _ENTRIES.fields)
_DELETED = DeletedEntry.__struct_fields__
_ids = msgspec.json.Decoder(list[str]).decode
# What a transcript is of, by the column that names it: a lane with all its generations, or one generation.
Transcript = Literal["key", "session_id"]


def append_entry(tx: Tx, access: Access, entry: NewEntry) -> Entry:
    """Write one entry and publish it on the feed."""
    if location := location_from_task(tx, access, entry):
        entry = structs.replace(entry, **location)
    written = entry.written(tx.tick(), entry.id or tx.new_id("ent"), tx.now)
    tx.pipeline((_OF_LANES if entry.is_of_lane else _ENTRIES).insert, access, **_ENTRIES.values(written))
    _publish(tx, access, "log.appended", written)
    return written


def append_once(tx: Tx, access: Access, entry: NewEntry) -> Entry | None:
    """Write one entry and publish it on the feed; None if its id, its mark or its message is taken."""
    written = entry.written(tx.tick(), entry.id or tx.new_id("ent"), tx.now)
    if not tx.run(f"{_ENTRIES.insert} ON CONFLICT DO NOTHING", access, **_ENTRIES.values(written)):
        return None
    _publish(tx, access, "log.appended", written)
    return written


def _publish(tx: Tx, access: Access, name: str, entry: Entry) -> None:
    append_event(tx, access, name, _about(entry), json_text({"log": entry.wire()}))


_UPDATE = (
    "UPDATE entries SET topic_id = :topic_id, task_id = :task_id, space_id = :space_id, content = :content, "
    "summary = :summary, classification = :classification, classification_attempts = :classification_attempts, "
    "classification_error = :classification_error, updated_at = :updated_at, changed_seq = tick() "
    "WHERE account_id = :account AND seq = :seq"
)


def update_entry(tx: Tx, access: Access, entry: Entry) -> Entry:
    """Write an entry's location, text and classification, and publish the change on the feed."""
    written = structs.replace(entry, updated_at=tx.now)
    leave_spaces(tx, access, written)
    if tx.run(_UPDATE, access, **_ENTRIES.values(written)):
        _publish(tx, access, "log.updated", written)
    return written


def delete_entry(tx: Tx, access: Access, entry: Entry) -> None:
    """Delete one entry, and publish that on the feed."""
    # First, since observers lock the entry's topic and task, which are locked before entries.
    tx.publish(EntriesDeleted(access, (DeletedEntry(*(getattr(entry, name) for name in _DELETED)),)))
    tx.run("DELETE FROM entries WHERE account_id = :account AND seq = :seq", access, seq=entry.seq)
    body = {"id": entry.id, "spaceIds": spaces_of_entry(tx, access, entry)}
    append_event(tx, access, "log.deleted", _about(entry), json_text(body))


def pending_entries(tx: Tx, access: Access, after: int, *, limit: int) -> list[Entry]:
    """Return the settled entries after a number that are not classified yet, oldest first."""
    sql = (
        f"{_SELECT_ENTRY} WHERE account_id = :account AND classification = 'pending' AND seq > :after "
        "AND seq <= :horizon ORDER BY seq LIMIT :limit"
    )
    return _ENTRIES.rows(tx.all(sql, access, after=after, horizon=tx.horizon(), limit=limit))


def entries_matching(
    tx: Tx, access: Access, rules: Iterable[str], *, before: int | None = None, limit: int, **values: object
) -> list[Entry]:
    """Return the newest `limit` entries below a number that match conditions, newest first."""
    where = " AND ".join(("account_id = :account", *rules))
    if before is not None:
        where, values = f"{where} AND seq < :before", values | {"before": before}
    sql = f"{_SELECT_ENTRY} WHERE {where} ORDER BY seq DESC LIMIT :limit"
    return _ENTRIES.rows(tx.all(sql, access, limit=limit, **values))


def _about(entry: Entry) -> About:
    lane = about_lane(SessionKey.stored(entry.key)) if entry.key else About(agent_id=entry.agent_id)
    return structs.replace(
        lane, run_id=entry.run_id, task_id=entry.task_id, topic_id=entry.topic_id, space_id=entry.space_id
    )


_INSERT_EVENT = _EVENTS.insert.replace(":seq", "tick()")


def append_event(
    tx: Tx, access: Access, name: str, about: About, body: str, *, change: int | None = None,
    recipient: str | None = None,
) -> None:  # fmt: skip
    """Write one event and wake the followers of the feed once it is committed.

    `change` numbers a run's own events; with a `recipient` only the reader of that mailbox sees the event.
    """
    values = structs.asdict(about)
    tx.defer(_INSERT_EVENT, access, name=name, at=tx.now, body=body, change=change, recipient=recipient, **values)
    tx.wake(FEED)


def changes_of_run(tx: Tx, access: Access, run_id: str, after: int, *, limit: int) -> list[tuple[int, Event]]:
    """Return a run's numbered events after a change, in order; each is committed before the next is made."""
    sql = (
        f"SELECT change, {_EVENTS.columns} FROM events WHERE account_id = :account AND run_id = :run_id "
        "AND change > :after ORDER BY change LIMIT :limit"
    )
    rows = tx.all(sql, access, run_id=run_id, after=after, limit=limit)
    return [(row[0], _EVENTS.row(row[1:])) for row in rows]


def runs_of_events(tx: Tx, access: Access, after: int, *, names: tuple[str, ...] | None, limit: int) -> RunsOfEvents:
    """Return the runs that events after a number are about: all events, or those with some names."""
    # The horizon first: whatever is below it is visible by then.
    horizon = tx.horizon()
    told = "run_id" if names is None else f"CASE WHEN name IN {names} THEN run_id END"
    sql = f"SELECT seq, {told} FROM events WHERE account_id = :account AND seq > :after ORDER BY seq LIMIT :limit"
    rows = tx.all(sql, access, after=after, limit=limit)
    settled = [seq for seq, _ in rows if seq <= horizon]
    return RunsOfEvents(
        run_ids=[run_id for _, run_id in rows if run_id is not None],
        cursor=settled[-1] if settled else after,
        has_more=len(settled) == limit,
        is_held_back=len(settled) < len(rows),
    )


def entries_of_session(
    tx: Tx, access: Access, session_id: str, *, limit: int, before: int | None = None, tool_results: bool = True
) -> list[Entry]:
    """Return the newest `limit` entries of one generation below `before`, oldest first."""
    rules = ["session_id = :session_id", *([] if tool_results else ["role <> 'toolResult'"])]
    return entries_matching(tx, access, rules, before=before, limit=limit, session_id=session_id)[::-1]


def talk_around_run(
    tx: Tx, access: Access, session_id: str, run_id: str, *, auto_run_id: str | None = None, limit: int,
    tools: tuple[str, dict[str, object]] = ("FALSE", {}), result_chars_max: int = 0,
) -> tuple[list[Entry], int]:  # fmt: skip
    """Return the newest `limit` messages of a generation without the run's own, oldest first, and how many more.

    With an auto run, messages of other auto runs are left out. `tools` is a condition on the tool calls and results to
    include; results are cut to their beginning.
    """
    of_tools, of_them = tools
    where = "WHERE account_id = :account AND session_id = :session_id AND (run_id IS NULL OR run_id <> :run_id) "
    where += f"AND ({_SPOKEN} OR ({_BY_TOOLS} AND {of_tools}))"
    values: dict[str, object] = {"session_id": session_id, "run_id": run_id} | of_them
    if auto_run_id is not None:
        where += " AND (auto_run_id IS NULL OR auto_run_id = :auto_run_id)"
        values["auto_run_id"] = auto_run_id
    sql = f"SELECT {_CUT_COLUMNS} FROM entries {where} ORDER BY seq DESC LIMIT :limit"
    rows = tx.all(sql, access, limit=limit, result_chars_max=result_chars_max, **values)
    counted = tx.one(f"SELECT count(*) FROM entries {where}", access, **values) if len(rows) == limit else None
    return _ENTRIES.rows(reversed(rows)), (counted[0] - limit if counted else 0)


def entries_of_run(tx: Tx, access: Access, run_id: str) -> list[Entry]:
    """Return every entry of one run, in order."""
    sql = f"{_SELECT_ENTRY} WHERE account_id = :account AND run_id = :run_id ORDER BY seq"
    return _ENTRIES.rows(tx.all(sql, access, run_id=run_id))


def entries_by_id(tx: Tx, access: Access, entry_ids: Iterable[str]) -> list[Entry]:
    """Return the existing ones of these entries, in order."""
    # Ordered by the bare column, SQLite would walk through all entries of the account in that order.
    return _ENTRIES.among(tx, access, "id", entry_ids, "ORDER BY +seq")


def talk_of_runs(tx: Tx, access: Access, run_ids: list[str]) -> dict[str, list[Entry]]:
    """Return the messages of those runs, by run, in order; no tool calls or results."""
    said, found = "AND role IN ('user', 'assistant') ORDER BY run_id, seq", dict[str, list[Entry]]()
    for entry in _ENTRIES.among(tx, access, "run_id", run_ids, said):
        found.setdefault(entry.run_id or "", []).append(entry)
    return found


def entries_of_task(
    tx: Tx, access: Access, task_id: str, view: TaskView, *, limit: int, before: int | None = None, after: int = 0
) -> list[Entry]:  # fmt: skip
    """Return the newest `limit` entries in a view of a task, between two numbers, oldest first."""
    values = {"task_id": task_id, "view": view, "after": after}
    return entries_matching(tx, access, [_IN_VIEW], before=before, limit=limit, **values)[::-1]


def count_entries_of_task(tx: Tx, access: Access, task_id: str, view: TaskView, *, before: int, after: int) -> int:
    """Return how many entries there are in a view of a task, between two numbers."""
    sql = f"SELECT count(*) FROM entries WHERE account_id = :account AND {_IN_VIEW} AND seq < :before"
    return tx.value(sql, access, task_id=task_id, view=view, before=before, after=after) or 0


def entries_since(tx: Tx, access: Access, after: int, *, limit: int) -> list[Entry]:
    """Return the settled entries after a number, oldest first."""
    sql = f"{_SELECT_ENTRY} WHERE account_id = :account AND seq > :after AND seq <= :horizon ORDER BY seq LIMIT :limit"
    return _ENTRIES.rows(tx.all(sql, access, after=after, horizon=tx.horizon(), limit=limit))


def entries_changed(tx: Tx, access: Access, after: int, upto: int, *, limit: int) -> list[tuple[int, Entry]]:
    """Return entries up to a number that changed after another, with the numbers of those changes, in order."""
    sql = (
        f"SELECT changed_seq, {_ENTRIES.columns} FROM entries WHERE account_id = :account AND seq <= :after "
        "AND changed_seq > :after AND changed_seq <= :upto ORDER BY changed_seq LIMIT :limit"
    )
    return [(row[0], _ENTRIES.row(row[1:])) for row in tx.all(sql, access, after=after, upto=upto, limit=limit)]


def number_before(tx: Tx, access: Access, table: Literal["entries", "events"], at: int) -> int:
    """Return a number before those of all entries or events written at or after a moment."""
    moment = "created_at" if table == "entries" else "at"
    first = tx.value(f"SELECT min(seq) FROM {table} WHERE account_id = :account AND {moment} >= :at", access, at=at)
    return newest_event(tx, access) if first is None else first - 1


def attached_in(tx: Tx, access: Access, column: Transcript, value: str) -> list[str]:
    """Return the ids of all files attached to a transcript."""
    sql = (
        f"SELECT attachment_ids FROM entries WHERE account_id = :account AND {column} = :value "
        "AND attachment_ids <> '[]' AND task_view IS NULL"
    )
    return [name for row in tx.all(sql, access, value=value) for name in _ids(row[0])]


def session_has_entries(tx: Tx, access: Access, session_id: str, count: int) -> bool:
    """Return True when a generation has at least `count` entries."""
    sql = "SELECT 1 FROM entries WHERE account_id = :account AND session_id = :id ORDER BY seq LIMIT 1 OFFSET :before"
    return tx.one(sql, access, id=session_id, before=count - 1) is not None


def delete_transcript(tx: Tx, access: Access, column: Transcript, value: str) -> int:
    """Delete a transcript and return the number of its entries; messages in task threads stay."""
    of_it = f"WHERE account_id = :account AND {column} = :value"
    # The thread belongs to the task, not to the session in which a message of it was written.
    tx.run(f"UPDATE entries SET key = NULL, session_id = NULL {of_it} AND task_view IS NOT NULL", access, value=value)
    rows = tx.all(f"DELETE FROM entries {of_it} RETURNING {', '.join(_DELETED)}", access, value=value)
    if rows:
        tx.publish(EntriesDeleted(access, tuple(DeletedEntry(*row) for row in rows)))
    return len(rows)


def events_after(tx: Tx, access: Access, after: int, *, limit: int) -> list[Event]:
    """Return events after a cursor, oldest first, but none that a slower transaction may still precede."""
    sql = f"{_SELECT_EVENT} WHERE account_id = :account AND seq > :after AND seq <= :horizon ORDER BY seq LIMIT :limit"
    return _EVENTS.rows(tx.all(sql, access, after=after, horizon=tx.horizon(), limit=limit))


def any_event_after(tx: Tx, access: Access, after: int) -> bool:
    """Return True when there is an event after a cursor, settled or not."""
    sql = "SELECT 1 FROM events WHERE account_id = :account AND seq > :after LIMIT 1"
    return tx.one(sql, access, after=after) is not None


def newest_event(tx: Tx, access: Access) -> int:
    """Return the number of the newest settled event, kept or pruned, 0 when there is none."""
    return max(newest_settled(tx, access), pruned_event(tx, access))


def newest_settled(tx: Tx, access: Access) -> int:
    """Return the number of the newest settled event that is kept, 0 when there is none."""
    sql = "SELECT max(seq) FROM events WHERE account_id = :account AND seq <= :horizon"
    return tx.value(sql, access, horizon=tx.horizon()) or 0


def pruned_event(tx: Tx, access: Access) -> int:
    """Return the number up to which events have been pruned."""
    return tx.value("SELECT pruned_seq FROM feed_marks WHERE account_id = :account", access) or 0


def deletions_between(tx: Tx, access: Access, after: int, upto: int) -> list[Event]:
    """Return the events about deletions, after one number and up to another."""
    sql = (
        f"{_SELECT_EVENT} WHERE account_id = :account AND seq > :after AND seq <= :upto "
        "AND name IN ('session.deleted', 'space.deleted', 'topic.deleted', 'task.deleted', 'log.deleted') ORDER BY seq"
    )
    return _EVENTS.rows(tx.all(sql, access, after=after, upto=upto))


def deletions_of(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, int]:
    """Return, by key, the number of the event of the last deleted session."""
    listed, names = in_list("key", keys)
    if not names:
        return {}
    sql = (
        "SELECT key, max(seq) FROM events WHERE account_id = :account AND name = 'session.deleted' "
        f"AND key IN ({listed}) GROUP BY key"
    )
    return {row[0]: row[1] for row in tx.all(sql, access, **names)}


def prune_events(tx: Tx, access: Access, before: int, *, limit: int) -> int:
    """Delete up to `limit` events older than a moment, record how far, and return how many were deleted."""
    sql = "SELECT seq, at FROM events WHERE account_id = :account ORDER BY seq LIMIT :limit"
    old = [seq for seq, at in tx.all(sql, access, limit=limit) if at < before]
    if not old:
        return 0
    mark = (
        "INSERT INTO feed_marks (account_id, pruned_seq) VALUES (:account, :upto) "
        "ON CONFLICT (account_id) DO UPDATE SET pruned_seq = excluded.pruned_seq"
    )
    tx.run(mark, access, upto=old[-1])
    tx.run("DELETE FROM departures WHERE account_id = :account AND seq <= :upto", access, upto=old[-1])
    return tx.run("DELETE FROM events WHERE account_id = :account AND seq <= :upto", access, upto=old[-1])


def entries_by_session(tx: Tx, access: Access, session_ids: Iterable[str], *, limit: int) -> dict[str, list[Entry]]:
    """Return the newest few messages of several generations, oldest first; no tool calls or results."""
    rules = ("session_id = :session_id", _SPOKEN)
    return {name: entries_matching(tx, access, rules, limit=limit, session_id=name)[::-1] for name in session_ids}

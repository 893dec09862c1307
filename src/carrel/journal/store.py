"""The journal's SQL: entries, events, and where the feed begins."""

from collections.abc import Iterable

import msgspec
from msgspec import structs

from carrel.journal.model import About, Entry, Event, NewEntry, about_lane, json_text
from carrel.kernel import Access, Provenance, SessionKey
from carrel.storage import FEED, Row, Tx

_FIELDS = Entry.__struct_fields__
_ENTRY = ", ".join(_FIELDS)
_INSERT_ENTRY = (
    f"INSERT INTO entries (account_id, {_ENTRY}) VALUES (:account, {', '.join(f':{name}' for name in _FIELDS)})"
)
_EVENT = "seq, name, at, key, conversation, generation, run_id, task_id, agent_id, body, recipient"
_NO_TOOL_RESULTS = "AND role <> 'toolResult' "
_provenance = msgspec.json.Decoder(Provenance).decode
_json = msgspec.json.Decoder().decode
_ids = msgspec.json.Decoder(tuple[str, ...]).decode


def append_entry(tx: Tx, access: Access, entry: NewEntry) -> Entry:
    """Write one line of the journal and tell of it."""
    entry_id, seq = entry.id or tx.new_id("ent"), tx.tick()
    tx.run(
        _INSERT_ENTRY,
        account=access.account_id,
        seq=seq,
        id=entry_id,
        type=entry.type,
        role=entry.role,
        content=entry.content,
        details=None if entry.details is None else json_text(entry.details),
        key=entry.key,
        session_id=entry.session_id,
        run_id=entry.run_id,
        agent_id=entry.agent_id,
        author=entry.author,
        provenance=json_text(entry.provenance),
        message_id=entry.message_id,
        channel=entry.channel,
        attachment_ids=json_text(entry.attachment_ids),
        created_at=tx.now,
        task_id=entry.task,
        topic_id=entry.topic_id,
        space_id=entry.space_id,
        author_kind=entry.written_by,
    )
    written = entry.written(seq, entry_id, tx.now)
    append_event(tx, access, "log.appended", _about(written), json_text({"log": written.wire()}))
    return written


def _about(entry: Entry) -> About:
    lane = about_lane(SessionKey.stored(entry.key)) if entry.key else About(agent_id=entry.agent_id)
    return structs.replace(lane, run_id=entry.run_id, task_id=entry.task_id)


def append_event(
    tx: Tx, access: Access, name: str, about: About, body: str, *, change: int | None = None,
    recipient: str | None = None,
) -> None:  # fmt: skip
    """Write one line of the feed and wake its followers once it is committed.

    `change` numbers a run's own events; with a `recipient` only the reader of that mailbox is told.
    """
    tx.later(
        "INSERT INTO events (account_id, seq, name, at, key, conversation, generation, run_id, task_id, agent_id, "
        "body, change, recipient) VALUES (:account, tick(), :name, :now, :key, :conversation, :generation, :run_id, "
        ":task_id, :agent_id, :body, :change, :recipient)",
        account=access.account_id,
        name=name,
        now=tx.now,
        key=about.key,
        conversation=about.conversation,
        generation=about.generation,
        run_id=about.run_id,
        task_id=about.task_id,
        agent_id=about.agent_id,
        body=body,
        change=change,
        recipient=recipient,
    )
    tx.wake(FEED)


def changes_of_run(tx: Tx, access: Access, run_id: str, after: int, *, limit: int) -> list[tuple[int, Event]]:
    """The numbered events of a run behind one of its changes, in order. One run's changes are made one by one."""
    rows = tx.all(
        f"SELECT change, {_EVENT} FROM events WHERE account_id = :account AND run_id = :run_id AND change > :after "
        "ORDER BY change LIMIT :limit",
        account=access.account_id,
        run_id=run_id,
        after=after,
        limit=limit,
    )
    return [(row[0], Event(*row[1:])) for row in rows]


def runs_told_of(tx: Tx, access: Access, after: int, *, limit: int) -> list[tuple[int, str | None]]:
    """(number, run) of the events behind a number, as far as they are settled."""
    rows = tx.all(
        "SELECT seq, run_id FROM events WHERE account_id = :account AND seq > :after AND seq <= :horizon "
        "ORDER BY seq LIMIT :limit",
        account=access.account_id,
        after=after,
        horizon=tx.horizon(),
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]


def entries_of_session(
    tx: Tx, access: Access, session_id: str, *, limit: int, before: int | None = None, tool_results: bool = True
) -> list[Entry]:
    """The newest `limit` entries of one generation below `before`, oldest first, on demand without tool results."""
    rows = tx.all(
        f"SELECT {_ENTRY} FROM entries WHERE account_id = :account AND session_id = :session_id AND seq < :before "
        f"{'' if tool_results else _NO_TOOL_RESULTS}ORDER BY seq DESC LIMIT :limit",
        account=access.account_id,
        session_id=session_id,
        before=before if before is not None else 1 << 62,
        limit=limit,
    )
    return [_entry(row) for row in reversed(rows)]


_TALK = (
    "FROM entries WHERE account_id = :account AND session_id = :session_id "
    "AND role IN ('user', 'assistant', 'system') AND (run_id IS NULL OR run_id <> :run_id)"
)


def talk_around_run(tx: Tx, access: Access, session_id: str, run_id: str, *, limit: int) -> tuple[list[Entry], int]:
    """The newest `limit` messages of a generation but the run's own, oldest first, and how many more there are."""
    values: dict[str, object] = {"account": access.account_id, "session_id": session_id, "run_id": run_id}
    rows = tx.all(f"SELECT {_ENTRY} {_TALK} ORDER BY seq DESC LIMIT :limit", limit=limit, **values)
    counted = tx.one(f"SELECT count(*) {_TALK}", **values) if len(rows) == limit else None
    return [_entry(row) for row in reversed(rows)], (counted[0] - limit if counted else 0)


def entries_of_run(tx: Tx, access: Access, run_id: str) -> list[Entry]:
    """Everything one run heard, said and did, in order."""
    rows = tx.all(
        f"SELECT {_ENTRY} FROM entries WHERE account_id = :account AND run_id = :run_id ORDER BY seq",
        account=access.account_id,
        run_id=run_id,
    )
    return [_entry(row) for row in rows]


def talk_of_runs(tx: Tx, access: Access, run_ids: list[str]) -> dict[str, list[Entry]]:
    """What was said in each of those runs, by run, in order; no tool calls and no results."""
    names = {f"run_{n}": run_id for n, run_id in enumerate(run_ids)}
    rows = tx.all(
        f"SELECT {_ENTRY} FROM entries WHERE account_id = :account AND run_id IN ({', '.join(f':{n}' for n in names)}) "
        "AND role IN ('user', 'assistant') ORDER BY run_id, seq",
        account=access.account_id,
        **names,
    )
    said: dict[str, list[Entry]] = {}
    for entry in map(_entry, rows):
        said.setdefault(entry.run_id or "", []).append(entry)
    return said


def entries_since(tx: Tx, access: Access, after: int, *, limit: int) -> list[Entry]:
    """Entries behind a number, oldest first, as far as they are settled."""
    rows = tx.all(
        f"SELECT {_ENTRY} FROM entries WHERE account_id = :account AND seq > :after AND seq <= :horizon "
        "ORDER BY seq LIMIT :limit",
        account=access.account_id,
        after=after,
        horizon=tx.horizon(),
        limit=limit,
    )
    return [_entry(row) for row in rows]


def newest_entries(tx: Tx, access: Access, upto: int, *, limit: int) -> list[Entry]:
    """The newest entries of the account up to a number, oldest first."""
    rows = tx.all(
        f"SELECT {_ENTRY} FROM entries WHERE account_id = :account AND seq <= :upto ORDER BY seq DESC LIMIT :limit",
        account=access.account_id,
        upto=upto,
        limit=limit,
    )
    return [_entry(row) for row in reversed(rows)]


def first_entry_since(tx: Tx, access: Access, at: int) -> int:
    """The number behind which every entry written at or after a moment stands."""
    row = tx.one(
        "SELECT min(seq) FROM entries WHERE account_id = :account AND created_at >= :at",
        account=access.account_id,
        at=at,
    )
    return row[0] - 1 if row and row[0] is not None else newest_event(tx, access)


def attached_in_lane(tx: Tx, access: Access, key: str) -> list[str]:
    """The ids of every file that came with an entry of a lane, all generations."""
    rows = tx.all(
        "SELECT attachment_ids FROM entries WHERE account_id = :account AND key = :key AND attachment_ids <> '[]'",
        account=access.account_id,
        key=key,
    )
    return [name for row in rows for name in _ids(row[0])]


def attached_in_session(tx: Tx, access: Access, session_id: str) -> list[str]:
    """The ids of every file that came with an entry of one generation."""
    rows = tx.all(
        "SELECT attachment_ids FROM entries WHERE account_id = :account AND session_id = :session_id "
        "AND attachment_ids <> '[]'",
        account=access.account_id,
        session_id=session_id,
    )
    return [name for row in rows for name in _ids(row[0])]


def delete_lane_entries(tx: Tx, access: Access, key: str) -> int:
    """Remove a lane's transcript, all generations."""
    return tx.run("DELETE FROM entries WHERE account_id = :account AND key = :key", account=access.account_id, key=key)


def delete_session_entries(tx: Tx, access: Access, session_id: str) -> int:
    """Remove one generation's transcript."""
    return tx.run(
        "DELETE FROM entries WHERE account_id = :account AND session_id = :session_id",
        account=access.account_id,
        session_id=session_id,
    )


def events_after(tx: Tx, access: Access, after: int, *, limit: int) -> list[Event]:
    """Events behind a cursor, oldest first, never past one that a slower transaction may still precede."""
    rows = tx.all(
        f"SELECT {_EVENT} FROM events WHERE account_id = :account AND seq > :after AND seq <= :horizon "
        "ORDER BY seq LIMIT :limit",
        account=access.account_id,
        after=after,
        horizon=tx.horizon(),
        limit=limit,
    )
    return [Event(*row) for row in rows]


def any_event_after(tx: Tx, access: Access, after: int) -> bool:
    """True when an event behind a cursor is written, settled or not."""
    row = tx.one(
        "SELECT 1 FROM events WHERE account_id = :account AND seq > :after LIMIT 1",
        account=access.account_id,
        after=after,
    )
    return row is not None


def newest_event(tx: Tx, access: Access) -> int:
    """The number of the newest settled event, 0 when there is none."""
    row = tx.one(
        "SELECT max(seq) FROM events WHERE account_id = :account AND seq <= :horizon",
        account=access.account_id,
        horizon=tx.horizon(),
    )
    return max((row[0] if row else None) or 0, pruned_event(tx, access))


def pruned_event(tx: Tx, access: Access) -> int:
    """Up to which number events have been removed."""
    row = tx.one("SELECT pruned_seq FROM feed_marks WHERE account_id = :account", account=access.account_id)
    return row[0] if row else 0


def deletions_between(tx: Tx, access: Access, after: int, upto: int) -> list[Event]:
    """The events of sessions that were deleted, behind one number and up to another."""
    rows = tx.all(
        f"SELECT {_EVENT} FROM events WHERE account_id = :account AND seq > :after AND seq <= :upto "
        "AND name = 'session.deleted' ORDER BY seq",
        account=access.account_id,
        after=after,
        upto=upto,
    )
    return [Event(*row) for row in rows]


def first_event_since(tx: Tx, access: Access, at: int) -> int:
    """The cursor behind which everything happened at or after a moment."""
    row = tx.one(
        "SELECT min(seq) FROM events WHERE account_id = :account AND at >= :at", account=access.account_id, at=at
    )
    return row[0] - 1 if row and row[0] is not None else newest_event(tx, access)


def prune_events(tx: Tx, access: Access, before: int, *, limit: int) -> int:
    """Remove up to `limit` events older than a moment and remember how far; the number removed."""
    rows = tx.all(
        "SELECT seq, at FROM events WHERE account_id = :account ORDER BY seq LIMIT :limit",
        account=access.account_id,
        limit=limit,
    )
    old = [seq for seq, at in rows if at < before]
    if not old:
        return 0
    removed = tx.run(
        "DELETE FROM events WHERE account_id = :account AND seq <= :upto", account=access.account_id, upto=old[-1]
    )
    tx.run(
        "INSERT INTO feed_marks (account_id, pruned_seq) VALUES (:account, :upto) "
        "ON CONFLICT (account_id) DO UPDATE SET pruned_seq = excluded.pruned_seq",
        account=access.account_id,
        upto=old[-1],
    )
    return removed


def entries_by_session(tx: Tx, access: Access, session_ids: Iterable[str], *, limit: int) -> dict[str, list[Entry]]:
    """The newest few spoken entries of several generations, oldest first; tool results left out."""
    found: dict[str, list[Entry]] = {}
    for session_id in session_ids:
        rows = tx.all(
            f"SELECT {_ENTRY} FROM entries WHERE account_id = :account AND session_id = :session_id "
            "AND role IN ('user', 'assistant', 'system') ORDER BY seq DESC LIMIT :limit",
            account=access.account_id,
            session_id=session_id,
            limit=limit,
        )
        found[session_id] = [_entry(row) for row in reversed(rows)]
    return found


def _entry(row: Row) -> Entry:
    fields = dict(zip(_FIELDS, row, strict=True))
    fields["details"] = None if fields["details"] is None else _json(fields["details"])
    fields["provenance"] = _provenance(fields["provenance"])
    fields["attachment_ids"] = _ids(fields["attachment_ids"])
    return Entry(**fields)

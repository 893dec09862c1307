"""The board's SQL: visible entries, duplicates, and links to sub-agents' sessions."""

from typing import Any

from carrel.board.model import Location, LogFilter
from carrel.journal import Entry, entries_matching
from carrel.kernel import Access
from carrel.storage import Tx
from carrel.visibility import seen_log


def location_of_task(tx: Tx, access: Access, task_id: str) -> Location | None:
    """Return the place of a task's entries; None if there is no such task."""
    row = tx.one("SELECT topic_id, space_id FROM tasks WHERE account_id = :account AND id = :id", access, id=task_id)
    return None if row is None else Location(row[0], task_id, row[1])


def place_of_topic(tx: Tx, access: Access, topic_id: str) -> Location | None:
    """Return the place of a topic's entries; None if there is no such topic."""
    row = tx.one("SELECT space_id FROM topics WHERE account_id = :account AND id = :id", access, id=topic_id)
    return None if row is None else Location(topic_id, None, row[0])


def list_entries(
    tx: Tx, access: Access, wanted: LogFilter, *, before: int | None = None, limit: int
) -> list[Entry]:  # fmt: skip
    """Return visible entries below a number, newest first."""
    seen, values = seen_log(tx, access, wanted.spaces)
    rules, asked = _conditions(wanted)
    values |= asked
    if before is not None:
        rules, values = [*rules, "seq < :before"], values | {"before": before}
    return entries_matching(tx, access, [seen, *rules], limit=limit, **values)


def entry_in_view(tx: Tx, access: Access, entry_id: str) -> Entry | None:
    """Return one entry that the caller may see."""
    seen, values = seen_log(tx, access)
    found = entries_matching(tx, access, [seen, "id = :id"], limit=1, id=entry_id, **values)
    return found[0] if found else None


def _conditions(wanted: LogFilter) -> tuple[list[str], dict[str, Any]]:
    equal = {
        "topic_id": wanted.topic_id,
        "task_id": wanted.task_id,
        "session_id": wanted.session_id,
        "run_id": wanted.run_id,
        "type": wanted.type,
        "classification": wanted.classification,
    }
    values: dict[str, Any] = {name: value for name, value in equal.items() if value is not None}
    rules = [f"{name} = :{name}" for name in values]
    if wanted.bucket is not None:
        rules.append("(bucket = :bucket OR key = :key)" if wanted.key is not None else "bucket = :bucket")
        values |= {"bucket": wanted.bucket} | ({} if wanted.key is None else {"key": wanted.key})
    if wanted.related_ids:
        related = {f"related_{at}": name for at, name in enumerate(wanted.related_ids)}
        rules.append(f"related_id IN ({', '.join(f':{name}' for name in related)})")
        values |= related
    return rules, values


def raws_of(tx: Tx, access: Access, entry_ids: list[str]) -> dict[str, str | None]:
    """Return the raw source of those entries, by id."""
    names: dict[str, object] = {f"id_{at}": entry_id for at, entry_id in enumerate(entry_ids)}
    if not names:
        return {}
    listed = ", ".join(f":{name}" for name in names)
    sql = f"SELECT id, raw FROM entries WHERE account_id = :account AND id IN ({listed})"
    return {row[0]: row[1] for row in tx.all(sql, access, **names)}


def entry_once(tx: Tx, access: Access, dedupe: str) -> str | None:
    """Return the id of the entry that was sent under this mark."""
    row = tx.one("SELECT id FROM entries WHERE account_id = :account AND dedupe = :dedupe", access, dedupe=dedupe)
    return row[0] if row else None


def entry_of_message(
    tx: Tx, access: Access, kind: str, author: str, channel: str | None, message_id: str
) -> str | None:  # fmt: skip
    """Return the id of the entry with a sender's message id."""
    sql = (
        "SELECT id FROM entries WHERE account_id = :account AND message_id = :message_id AND type = :kind "
        "AND author = :author AND COALESCE(channel, '') = :channel ORDER BY seq LIMIT 1"
    )
    row = tx.one(sql, access, message_id=message_id, kind=kind, author=author, channel=channel or "")
    return row[0] if row else None


def entry_said_here(
    tx: Tx, access: Access, key: str | None, task_id: str | None, role: str, content: str, since: int, *, limit: int
) -> str | None:  # fmt: skip
    """Return the id of a recent entry with these words, in a lane or about a task."""
    of_it = "(key = :key OR task_id = :task_id)" if key and task_id else "key = :key" if key else "task_id = :task_id"
    named = {"key": key, "task_id": task_id}
    sql = (
        "SELECT id FROM (SELECT id, content, role, source, created_at FROM entries "
        f"WHERE account_id = :account AND {of_it} ORDER BY seq DESC LIMIT :limit) AS newest "
        "WHERE role = :role AND source IS NULL AND content = :content AND created_at >= :since LIMIT 1"
    )
    values = {name: value for name, value in named.items() if value}
    row = tx.one(sql, access, role=role, content=content, since=since, limit=limit, **values)
    return row[0] if row else None


def link_spawn(tx: Tx, access: Access, child_key: str, entry_id: str) -> None:
    """Record the entry about a session's spawning; only the first one counts."""
    sql = (
        "INSERT INTO spawn_links (account_id, child_key, entry_id) VALUES (:account, :child_key, :entry_id) "
        "ON CONFLICT DO NOTHING"
    )
    tx.run(sql, access, child_key=child_key, entry_id=entry_id)


def entry_of_spawn(tx: Tx, access: Access, child_key: str) -> str | None:
    """Return the id of the entry about a session's spawning."""
    sql = "SELECT entry_id FROM spawn_links WHERE account_id = :account AND child_key = :child_key"
    row = tx.one(sql, access, child_key=child_key)
    return row[0] if row else None

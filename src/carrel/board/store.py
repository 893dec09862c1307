"""The board's SQL: entries, where they went, links to sub-agents' sessions, lanes on and off the board, follow-ups."""

from typing import Any

from msgspec import Struct

from carrel.board.filters import PRIVATE
from carrel.board.model import Location, LogFilter
from carrel.journal import Entry, entries_matching
from carrel.kernel import Access, Shape
from carrel.kernel.limits import ROUTES_MAX
from carrel.kernel.settings import Recall
from carrel.storage import Due, Table, Tx, in_list
from carrel.topics import depart_from_topics
from carrel.visibility import seen_log

# What the classifier sorts: no notes, thread messages, entries whose run was given a task, or entries that a program
# logged on purpose.
_SAID = (
    "i.account_id = :account AND i.key = :key AND i.type <> 'note' AND i.task_view IS NULL AND {logged} "
    "AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.account_id = i.account_id AND r.id = i.run_id "
    "AND r.task_id = i.task_id) AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = i.account_id "
    "AND l.key = i.key AND l.kind = 'task')"
)
# A topic is named after one of its first messages.
_OPENINGS_MAX = 20
_PRIVATE = PRIVATE[1]
_SHARED = "(i.source IS NULL OR i.run_id IS NOT NULL)"


def location_of_task(tx: Tx, access: Access, task_id: str) -> Location | None:
    """Return the location of a task's entries; None if there is no such task."""
    row = tx.one("SELECT topic_id, space_id FROM tasks WHERE account_id = :account AND id = :id", access, id=task_id)
    return None if row is None else Location(row[0], task_id, row[1])


def location_of_topic(tx: Tx, access: Access, topic_id: str) -> Location | None:
    """Return the location of a topic's entries; None if there is no such topic."""
    row = tx.one("SELECT space_id FROM topics WHERE account_id = :account AND id = :id", access, id=topic_id)
    return None if row is None else Location(topic_id, None, row[0])


def list_entries(tx: Tx, access: Access, wanted: LogFilter, *, before: int | None = None, limit: int) -> list[Entry]:
    """Return visible entries below a number, newest first."""
    seen, values = seen_log(tx, access, wanted.spaces)
    rules, asked = _conditions(wanted)
    return entries_matching(tx, access, [seen, *rules], before=before, limit=limit, **values, **asked)


def entry_in_view(tx: Tx, access: Access, entry_id: str) -> Entry | None:
    """Return one entry that the caller may see."""
    seen, values = seen_log(tx, access)
    found = entries_matching(tx, access, [seen, "id = :id"], before=None, limit=1, id=entry_id, **values)
    return found[0] if found else None


def _conditions(wanted: LogFilter) -> tuple[list[str], dict[str, Any]]:
    equal = ("topic_id", "task_id", "session_id", "run_id", "type", "classification")
    values: dict[str, Any] = {name: value for name in equal if (value := getattr(wanted, name)) is not None}
    rules = [f"{name} = :{name}" for name in values]
    if wanted.bucket is not None:
        rules.append("(bucket = :bucket OR key = :key)" if wanted.key is not None else "bucket = :bucket")
        values |= {"bucket": wanted.bucket} | ({} if wanted.key is None else {"key": wanted.key})
    if wanted.related_ids:
        listed, related = in_list("related", wanted.related_ids)
        rules.append(f"related_id IN ({listed})")
        values |= related
    return rules, values


def raws_of(tx: Tx, access: Access, entry_ids: list[str]) -> dict[str, str | None]:
    listed, names = in_list("id", entry_ids)
    if not names:
        return {}
    sql = f"SELECT id, raw FROM entries WHERE account_id = :account AND id IN ({listed})"
    return {row[0]: row[1] for row in tx.all(sql, access, **names)}


def entry_once(tx: Tx, access: Access, dedupe: str) -> str | None:
    """Return the id of the entry that was sent under this mark."""
    return tx.value("SELECT id FROM entries WHERE account_id = :account AND dedupe = :dedupe", access, dedupe=dedupe)


def entry_of_message(
    tx: Tx, access: Access, kind: str, author: str, channel: str | None, message_id: str
) -> str | None:  # fmt: skip
    """Return the id of the entry with a sender's message id."""
    sql = (
        "SELECT id FROM entries WHERE account_id = :account AND message_id = :message_id AND type = :kind "
        "AND author = :author AND COALESCE(channel, '') = :channel ORDER BY seq LIMIT 1"
    )
    return tx.value(sql, access, message_id=message_id, kind=kind, author=author, channel=channel or "")


def entry_said_here(
    tx: Tx, access: Access, key: str | None, task_id: str | None, role: str, content: str, since: int, *, limit: int
) -> str | None:  # fmt: skip
    """Return the id of a recent entry with these words, in a lane or about a task."""
    of_it = "(key = :key OR task_id = :task_id)" if key and task_id else "key = :key" if key else "task_id = :task_id"
    sql = (
        "SELECT id FROM (SELECT id, content, role, source, created_at FROM entries "
        f"WHERE account_id = :account AND {of_it} ORDER BY seq DESC LIMIT :limit) AS newest "
        "WHERE role = :role AND source IS NULL AND content = :content AND created_at >= :since LIMIT 1"
    )
    values = {name: value for name, value in (("key", key), ("task_id", task_id)) if value}
    return tx.value(sql, access, role=role, content=content, since=since, limit=limit, **values)


def link_spawn(tx: Tx, access: Access, child_key: str, entry_id: str) -> None:
    """Record the entry about a session's spawning; only the first one counts."""
    sql = (
        "INSERT INTO spawn_links (account_id, child_key, entry_id) VALUES (:account, :child_key, :entry_id) "
        "ON CONFLICT DO NOTHING"
    )
    tx.run(sql, access, child_key=child_key, entry_id=entry_id)


def entry_of_spawn(tx: Tx, access: Access, child_key: str) -> str | None:
    sql = "SELECT entry_id FROM spawn_links WHERE account_id = :account AND child_key = :child_key"
    return tx.value(sql, access, child_key=child_key)


class RouteFields(Shape, frozen=True):
    """One place that messages of a session went to; `anchor` is what was said there."""

    topic_id: str
    topic_name: str
    task_id: str | None
    task_title: str | None
    anchor: str


class Route(RouteFields, frozen=True):
    """One place that messages of a session went to, and the space of its topic."""

    at: int
    space_id: str


_OF_SESSION = "account_id = :account AND session_key = :session_key"


def insert_route(
    tx: Tx, access: Access, session_key: str, seq: int, topic_id: str, task_id: str | None, anchor: str
) -> None:  # fmt: skip
    """Write one of a session's routes, replacing an earlier one with its number."""
    sql = (
        "INSERT INTO topic_routes (account_id, session_key, seq, topic_id, task_id, anchor, at) "
        "VALUES (:account, :session_key, :seq, :topic_id, :task_id, :anchor, :now) "
        "ON CONFLICT (account_id, session_key, seq) DO UPDATE SET topic_id = excluded.topic_id, "
        "task_id = excluded.task_id, anchor = excluded.anchor, at = excluded.at"
    )
    location = {"topic_id": topic_id, "task_id": task_id}
    tx.run(sql, access, session_key=session_key, seq=seq, anchor=anchor, now=tx.now, **location)


def keep_newest(tx: Tx, access: Access, session_key: str, count: int) -> None:
    """Delete all of a session's routes but the newest."""
    sql = f"SELECT seq FROM topic_routes WHERE {_OF_SESSION} ORDER BY seq DESC LIMIT 1 OFFSET :count"
    if (row := tx.one(sql, access, session_key=session_key, count=count)) is not None:
        delete = f"DELETE FROM topic_routes WHERE {_OF_SESSION} AND seq <= :upto"
        tx.run(delete, access, session_key=session_key, upto=row[0])


def routes_of(
    tx: Tx, access: Access, session_key: str, limit: int = ROUTES_MAX, *, before: int | None = None
) -> list[Route]:
    """Return where a session's newest messages below a number went, newest last, with current names."""
    sql = (
        "SELECT r.topic_id, o.name, r.task_id, t.title, r.anchor, r.at, o.space_id FROM topic_routes r "
        "JOIN topics o ON o.account_id = r.account_id AND o.id = r.topic_id "
        "LEFT JOIN tasks t ON t.account_id = r.account_id AND t.id = r.task_id "
        "WHERE r.account_id = :account AND r.session_key = :session_key AND r.seq < :before "
        "ORDER BY r.seq DESC LIMIT :limit"
    )
    upto = 1 << 62 if before is None else before
    rows = tx.all(sql, access, session_key=session_key, before=upto, limit=limit)
    return [Route(*row) for row in reversed(rows)]


def move_routes(tx: Tx, access: Access, topic_id: str, to: str) -> None:
    """Redirect the routes of one topic to another."""
    sql = "UPDATE topic_routes SET topic_id = :to WHERE account_id = :account AND topic_id = :topic_id"
    tx.run(sql, access, topic_id=topic_id, to=to)


def move_route(tx: Tx, access: Access, session_key: str, seq: int, to: str) -> None:
    """Redirect the route of one message to another topic."""
    sql = f"UPDATE topic_routes SET topic_id = :to WHERE {_OF_SESSION} AND seq = :seq"
    tx.run(sql, access, session_key=session_key, seq=seq, to=to)


def delete_routes(tx: Tx, access: Access, session_key: str) -> None:
    tx.run(f"DELETE FROM topic_routes WHERE {_OF_SESSION}", access, session_key=session_key)


def delete_routes_of_messages(tx: Tx, access: Access, session_key: str, numbers: set[int]) -> None:
    """Delete a session's routes that quote the messages with those numbers."""
    known = tx.all(f"SELECT seq FROM topic_routes WHERE {_OF_SESSION}", access, session_key=session_key)
    for seq in numbers.intersection(row[0] for row in known):
        tx.run(f"DELETE FROM topic_routes WHERE {_OF_SESSION} AND seq = :seq", access, session_key=session_key, seq=seq)


def delete_routes_before(tx: Tx, access: Access, before: int, *, limit: int) -> int:
    """Delete up to `limit` routes of sessions in which nothing was sorted since a moment; return how many."""
    sql = (
        "DELETE FROM topic_routes WHERE account_id = :account AND session_key IN (SELECT session_key FROM topic_routes "
        "WHERE account_id = :account GROUP BY session_key HAVING max(at) < :before LIMIT :limit)"
    )
    return tx.run(sql, access, before=before, limit=limit)


def newest_spaces(tx: Tx, access: Access, session_key: str, *, limit: int) -> list[tuple[str | None, str | None]]:
    """Return space and source of a session's newest entries, newest first; the source is a lane's key or a name."""
    sql = (
        "SELECT space_id, source FROM entries WHERE account_id = :account AND {} = :session_key "
        "ORDER BY seq DESC LIMIT :limit"
    )
    for column in ("key", "bucket"):
        if rows := tx.all(sql.format(column), access, session_key=session_key, limit=limit):
            return [(row[0], row[1]) for row in rows]
    return []


def _said(*, is_private: bool) -> str:
    """What was said in a lane; in a person's chat this includes what programs log there."""
    return _SAID.format(logged="TRUE" if is_private else _SHARED)


def lanes_to_settle(tx: Tx, access: Access) -> list[str]:
    """Return the lanes of an account with sorted entries, or with entries that were kept from being sorted."""
    sql = (
        "SELECT DISTINCT i.key FROM entries i WHERE i.account_id = :account AND i.key IS NOT NULL "
        "AND (i.topic_id IS NOT NULL OR i.classification_error = :private) ORDER BY i.key"
    )
    return [row[0] for row in tx.all(sql, access, private=_PRIVATE)]


def locations_of_lane(tx: Tx, access: Access, key: str, *, is_private: bool) -> list[tuple[str, str | None]]:
    """Return the topics and tasks into which the messages of a lane are sorted."""
    sql = (
        f"SELECT DISTINCT i.topic_id, i.task_id FROM entries i WHERE {_said(is_private=is_private)} "
        "AND i.topic_id IS NOT NULL"
    )
    return [(row[0], row[1]) for row in tx.all(sql, access, key=key)]


def openings_of_topic(tx: Tx, access: Access, topic_id: str) -> list[str]:
    sql = (
        "SELECT content FROM entries WHERE account_id = :account AND topic_id = :topic_id AND type = 'conversation' "
        "ORDER BY seq LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, limit=_OPENINGS_MAX, topic_id=topic_id)]


def take_off(tx: Tx, access: Access, key: str, *, is_private: bool) -> int:
    """Remove a lane's messages from topics and tasks; return how many entries those were."""
    said = _said(is_private=is_private)
    depart_from_topics(tx, access, said, key=key)
    sql = (
        "UPDATE entries AS i SET topic_id = NULL, task_id = NULL, classification = 'classified', "
        "classification_error = :private, updated_at = :now, changed_seq = tick() "
        f"WHERE {said} AND i.topic_id IS NOT NULL"
    )
    return tx.run(sql, access, key=key, private=_PRIVATE, now=tx.now)


def put_on(tx: Tx, access: Access, key: str) -> int:
    """Let a lane's messages be sorted; return how many entries those are."""
    sql = (
        "UPDATE entries SET classification = 'pending', classification_attempts = 0, classification_error = NULL, "
        "changed_seq = tick() WHERE account_id = :account AND key = :key AND classification_error = :private"
    )
    return tx.run(sql, access, key=key, private=_PRIVATE)


def is_empty(tx: Tx, access: Access, topic_id: str) -> bool:
    """Return whether a topic made by the classifier has become empty."""
    sql = (
        "SELECT 1 FROM topics o WHERE o.account_id = :account AND o.id = :id AND o.created_by = 'classifier' "
        "AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.account_id = o.account_id AND e.topic_id = o.id) "
        "AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = o.account_id AND t.topic_id = o.id) "
        "AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.account_id = o.account_id AND l.kind = 'topic' "
        "AND l.conversation = 'topic:' || o.id)"
    )
    return tx.one(sql, access, id=topic_id) is not None


def stamp_default(tx: Tx, access: Access, recall: Recall) -> None:
    """Write the default for lanes of an account for which nobody has chosen."""
    tx.run("UPDATE accounts SET recall_default = :recall WHERE id = :account", access, recall=recall)
    tx.invalidate()


class Followup(Struct, frozen=True, kw_only=True):
    """When a delegated run is checked next, and its state at the last check."""

    account_id: str
    run_id: str
    due_at: int
    seen: str


_TABLE = Table("followups", Followup, key=("account_id", "run_id"))
FOLLOWUPS = Due(_TABLE, "followups")
_ONE = "account_id = :account AND run_id = :run_id"


def begin_followup(tx: Tx, access: Access, followup: Followup) -> None:
    """Begin to follow up a run; a requeued run already is."""
    tx.run(f"{_TABLE.insert} ON CONFLICT DO NOTHING", access, **_TABLE.values(followup))


def end_followup(tx: Tx, access: Access, run_id: str) -> None:
    tx.run(f"DELETE FROM followups WHERE {_ONE}", access, run_id=run_id)


def hold_followup(tx: Tx, access: Access, run_id: str) -> Followup | None:
    """Return one follow-up, locked until the end of the transaction; the lane of its run must be locked first."""
    return _TABLE.row(tx.one(f"{_TABLE.select} WHERE {_ONE} FOR UPDATE", access, run_id=run_id))


def keep_followup(tx: Tx, access: Access, followup: Followup) -> None:
    """Write when a run is checked next, and its current state; this transaction must have locked it."""
    tx.run(_TABLE.update, access, **_TABLE.values(followup))

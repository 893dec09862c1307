"""The SQL of routing memory: where the messages of a session went, and the spaces of these places."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Tx


class Route(Struct, frozen=True):
    """One place that messages of a session went to."""

    at: int
    topic_id: str
    topic_name: str
    # The space of the topic.
    space_id: str
    task_id: str | None
    task_title: str | None
    # What was said there.
    anchor: str


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
    tx.run(
        sql, access, session_key=session_key, seq=seq, topic_id=topic_id, task_id=task_id, anchor=anchor, now=tx.now
    )  # fmt: skip


def keep_newest(tx: Tx, access: Access, session_key: str, count: int) -> None:
    """Delete all of a session's routes but the newest."""
    sql = f"SELECT seq FROM topic_routes WHERE {_OF_SESSION} ORDER BY seq DESC LIMIT 1 OFFSET :count"
    row = tx.one(sql, access, session_key=session_key, count=count)
    if row is not None:
        delete = f"DELETE FROM topic_routes WHERE {_OF_SESSION} AND seq <= :upto"
        tx.run(delete, access, session_key=session_key, upto=row[0])


def newest_routes(
    tx: Tx, access: Access, session_key: str, *, limit: int, before: int | None = None
) -> list[Route]:  # fmt: skip
    """Return a session's newest routes below a number, newest last, with current names of topics and tasks."""
    sql = (
        "SELECT r.at, r.topic_id, o.name, o.space_id, r.task_id, t.title, r.anchor FROM topic_routes r "
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
    """Delete the routes of a session."""
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
        rows = tx.all(sql.format(column), access, session_key=session_key, limit=limit)
        if rows:
            return [(row[0], row[1]) for row in rows]
    return []

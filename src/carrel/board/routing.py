"""Routing memory: where the messages of a session went; and the space from which a session sees the board."""

from typing import Any, Literal

import msgspec

from carrel.board import route_store as store
from carrel.board.keys import board_key
from carrel.board.locations import session_of
from carrel.board.model import LogSource
from carrel.board.route_store import Route
from carrel.board.store import location_of_task, place_of_topic
from carrel.journal import DEFAULT_SPACE
from carrel.kernel import MS_PER_DAY, Access, Refusal, SessionKey, clip, invalid, one_line
from carrel.kernel.limits import PRUNE_ROWS_MAX, ROUTE_ANCHOR_CHARS_MAX, ROUTE_DAYS_MAX, ROUTES_MAX, SPACE_ENTRIES_READ
from carrel.storage import Tx
from carrel.topics import readable_topic, topics_by_id
from carrel.work import readable_task

# What a space was inferred from.
InferredFrom = Literal["boardKey", "entries", "routing"]
_read = msgspec.json.Decoder(dict[str, Any]).decode


def remember_route(
    tx: Tx, access: Access, session_key: str, topic_id: str, task_id: str | None, anchor: str, *,
    seq: int | None = None,
) -> None:  # fmt: skip
    """Record where messages of a session went; only the newest few places are kept.

    `seq` is the message's number, which orders routes even if messages are sorted late.
    """
    said = clip(one_line(anchor), ROUTE_ANCHOR_CHARS_MAX)
    store.insert_route(tx, access, session_key, seq or tx.tick(), topic_id, task_id, said)
    store.keep_newest(tx, access, session_key, ROUTES_MAX)


def routes_of(tx: Tx, access: Access, session_key: str, limit: int = ROUTES_MAX) -> list[Route]:
    """Return where the messages of a session went, newest last."""
    return store.newest_routes(tx, access, session_key, limit=min(limit, ROUTES_MAX))


def visible_routes(tx: Tx, access: Access, session_key: str) -> tuple[str, list[Route]]:
    """Return the key of a session, and where its messages went, as far as the caller may see that."""
    try:
        key, bucket = session_of(tx, access, LogSource(session_key=session_key))
    except Refusal:
        # A session that the caller may not see looks like one without routes.
        return session_key, []
    found = routes_of(tx, access, key or bucket or session_key)
    seen = {topic.id for topic in topics_by_id(tx, access, {route.topic_id for route in found})}
    return key or bucket or session_key, [route for route in found if route.topic_id in seen]


def add_route(
    tx: Tx, access: Access, session_key: str, topic_id: str, task_id: str | None, anchor: str
) -> None:  # fmt: skip
    """Record a person's decision on where messages of a session belong."""
    key, bucket = session_of(tx, access, LogSource(session_key=session_key))
    topic = readable_topic(tx, access, topic_id)
    if task_id is not None and readable_task(tx, access, task_id)[0].topic_id != topic.id:
        raise invalid("taskId", f"The task '{task_id[:80]}' belongs to another topic.")
    remember_route(tx, access, key or bucket or session_key, topic.id, task_id, anchor)


def infer_space(tx: Tx, access: Access, session_key: str) -> tuple[str, InferredFrom] | None:
    """Return the space from which a session sees the board, and its source; None if there is none.

    `session_key` is a lane's key, or the name under which entries were sent. What was given explicitly counts before
    what was inferred: the board key, then the newest entries, then routing memory.
    """
    named = _space_of_key(tx, access, session_key)
    if named is not None:
        return named, "boardKey"
    said = _space_of_entries(tx, access, session_key)
    if said is not None:
        return said, "entries"
    routes = store.newest_routes(tx, access, session_key, limit=1)
    return (routes[0].space_id, "routing") if routes else None


def _space_of_key(tx: Tx, access: Access, session_key: str) -> str | None:
    topic_id, task_id = named_by(session_key)
    task = location_of_task(tx, access, task_id) if task_id is not None else None
    # A task without a space of its own is where its topic is.
    if task is not None and (task.space_id != DEFAULT_SPACE or task.topic_id is None):
        return task.space_id
    of_topic = (task.topic_id if task is not None else None) or topic_id
    topic = place_of_topic(tx, access, of_topic) if of_topic is not None else None
    return None if topic is None else topic.space_id


def named_by(session_key: str) -> tuple[str | None, str | None]:
    """Return the topic and the task that a board key, or the key of a topic or task lane, names."""
    named = board_key(session_key)
    if named is not None:
        return named.topic_id, named.task_id
    try:
        lane = SessionKey.parse(session_key)
    except Refusal:
        return None, None
    return lane.topic_id, lane.task_id


def _space_of_entries(tx: Tx, access: Access, session_key: str) -> str | None:
    newest = store.newest_spaces(tx, access, session_key, limit=SPACE_ENTRIES_READ)
    scoped = (_read(source).get("boardScopeSpaceId") for _, source in newest if source)
    given = (space_id for space_id, _ in newest)
    return next(filter(None, scoped), None) or next(filter(None, given), None)


def prune_routes(tx: Tx, access: Access) -> int:
    """Delete the routes of sessions that have been quiet for long; return how many."""
    return store.delete_routes_before(tx, access, tx.now - ROUTE_DAYS_MAX * MS_PER_DAY, limit=PRUNE_ROWS_MAX)

"""Where an entry belongs: by its board key, its source, its ids, its lineage, or where its session's messages went."""

import re
from typing import Any, Literal

import msgspec
from msgspec import structs

from carrel.access import readable_space
from carrel.board import store
from carrel.board.filters import is_subagent_key
from carrel.board.model import Location, LogSource, NewLog
from carrel.board.store import Route, location_of_task, location_of_topic
from carrel.journal import DEFAULT_SPACE, Entry
from carrel.kernel import MS_PER_DAY, Access, Code, Grammar, Refusal, SessionKey, clip, invalid, limits, one_line
from carrel.sessions import find_session, lane_of
from carrel.storage import Tx
from carrel.topics import readable_topic, topic_by_id, topics_by_id
from carrel.work import readable_task

_CHILD = re.compile(
    rf'"?childSessionKey"?\s{{0,8}}[:=]\s{{0,8}}"?([A-Za-z0-9:_.@|-]{{1,{limits.SESSION_REFERENCE_CHARS_MAX}}})'
)
_BOARD_KEY = re.compile(
    rf"(?:agent:[^:|]+:)?clawboard:(?:topic:({Grammar.LANE_ID})|task:({Grammar.LANE_ID}):({Grammar.LANE_ID}))(?:\|.*)?",
    re.DOTALL,
)
# What a space was inferred from.
InferredFrom = Literal["boardKey", "entries", "routing"]
_read = msgspec.json.Decoder(dict[str, Any]).decode


def session_of(tx: Tx, access: Access, source: LogSource) -> tuple[str | None, str | None]:
    """Return the lane of a source, and its bucket: the session key as sent, if it names no lane.

    A board key is always a bucket, since its lane may be opened later.
    """
    if (sent := effective_key(source)) is None:
        return None, None
    lane = lane_meant(tx, access, sent)
    return lane, sent if lane is None or board_key(sent) is not None else None


def lane_meant(tx: Tx, access: Access, session_key: str) -> str | None:
    """The key of the lane that a session key names; None for an opaque one, Refusal for a hidden lane."""
    reference = session_key.partition("|")[0]
    try:
        found = find_session(tx, access, reference, forbids_hidden=True)
    except Refusal as refusal:
        system = structs.replace(access, kind="system", view=None)
        if refusal.code is Code.FORBIDDEN and find_session(tx, system, reference).lane is not None:
            raise
        return None
    return None if found.lane is None else found.lane.key


def named_session(tx: Tx, access: Access, session_key: str) -> tuple[str | None, str | None]:
    """Return the visible lane and generation that a session key of a read names."""
    try:
        found = find_session(tx, access, session_key.partition("|")[0])
    except Refusal:
        return None, None
    return (found.lane.key if found.lane else None), (found.session.id if found.session else None)


def location_of(tx: Tx, access: Access, log: NewLog, session_key: str | None) -> Location:
    named, source = board_key(session_key), log.source
    if named is not None:
        location = location_named(tx, access, named.task_id, named.topic_id)
    elif source.board_scope_task_id or source.board_scope_topic_id:
        location = location_named(tx, access, source.board_scope_task_id, source.board_scope_topic_id)
    elif log.task_id or log.topic_id:
        location = required_location(tx, access, log.task_id, log.topic_id)
    else:
        location = (inherited_location(tx, access, session_key) if session_key else None) or Location()
    return structs.replace(location, space_id=_space(tx, access, log) or location.space_id)


def location_named(tx: Tx, access: Access, task_id: str | None, topic_id: str | None) -> Location:
    """Return the location of a visible task or topic: a task determines the topic, and both the space."""
    topic = topic_by_id(tx, access, topic_id) if topic_id else None
    if task_id:
        try:
            task, _ = readable_task(tx, access, task_id)
        except Refusal:
            task = None
        if task is not None:
            return Location(task.topic_id or (topic.id if topic else None), task.id, task.space_id)
    return Location() if topic is None else Location(topic.id, None, topic.space_id)


def required_location(tx: Tx, access: Access, task_id: str | None, topic_id: str | None) -> Location:
    """Return the location of a task or topic that a caller names; Refusal if it is not visible."""
    location = location_named(tx, access, task_id, topic_id)
    if task_id and location.task_id is None:
        raise invalid("taskId", f"There is no task '{task_id[:80]}'.")
    if topic_id and location.topic_id is None:
        raise invalid("topicId", f"There is no topic '{topic_id[:80]}'.")
    return location


def _space(tx: Tx, access: Access, log: NewLog) -> str | None:
    named = None if log.space_id is None else readable_space(tx, access, log.space_id, field="spaceId").id
    # The space that something is said from is more specific than the one that a program sends with everything.
    scope = log.source.board_scope_space_id
    try:
        return readable_space(tx, access, scope).id if scope else named
    except Refusal:
        return named


def inherited_location(tx: Tx, access: Access, session_key: str) -> Location | None:
    """Return the location that a sub-agent's session inherits from its spawning session; None without a link.

    Only the link of this very session counts, never what other sessions were about.
    """
    for _ in range(limits.LINEAGE_STEPS_MAX):
        if not is_subagent_key(session_key):
            break
        parent = _spawned_by(tx, access, session_key)
        if isinstance(parent, Location) or parent is None:
            return parent
        session_key = parent
    try:
        key = SessionKey.parse(session_key)
    except Refusal:
        return None
    location = location_named(tx, access, key.task_id, key.topic_id)
    return location if location != Location() else None


def _spawned_by(tx: Tx, access: Access, session_key: str) -> str | Location | None:
    """The lane that spawned a lane; or the location of the entry about a foreign session's spawning.

    An entry that the caller may not see reveals nothing, not even its topic and task.
    """
    try:
        lane = lane_of(tx, access, SessionKey.parse(session_key))
    except Refusal:
        lane = None
    if lane is not None:
        return lane.spawned_by
    told = store.entry_of_spawn(tx, access, session_key)
    found = store.entry_in_view(tx, access, told) if told is not None else None
    location = Location() if found is None else location_named(tx, access, found.task_id, found.topic_id)
    return None if location == Location() else location


def link_spawned(tx: Tx, access: Access, entry: Entry, raw: str | None) -> None:
    """Record the sub-agents' sessions that a tool call in an entry opened."""
    if entry.type != "action":
        return
    for child in (*_CHILD.findall(entry.content), *_CHILD.findall(raw or "")):
        if is_subagent_key(child):
            store.link_spawn(tx, access, child, entry.id)


def board_key(session_key: str | None) -> Location | None:
    """Return the topic, and maybe the task in it, that a key of the board names; None for any other key."""
    found = _BOARD_KEY.fullmatch(session_key or "")
    return None if found is None else Location(found[1] or found[2], found[3])


def effective_key(source: LogSource) -> str | None:
    """Return the effective session key: one of the board, else the provider's conversation, else the sent one."""
    if board_key(source.session_key) is not None:
        return source.session_key
    if source.conversation_id:
        thread = f"|thread:{source.thread_id}" if source.thread_id else ""
        return f"{source.conversation_id}{thread}"
    return source.session_key or (f"channel:{source.channel_id}" if source.channel_id else None)


def remember_route(
    tx: Tx, access: Access, session_key: str, topic_id: str, task_id: str | None, anchor: str, *,
    seq: int | None = None,
) -> None:  # fmt: skip
    """Record where messages of a session went; only the newest few are kept.

    `seq` is the message's number, which orders routes even if messages are sorted late.
    """
    said = clip(one_line(anchor), limits.ROUTE_ANCHOR_CHARS_MAX)
    store.insert_route(tx, access, session_key, seq or tx.tick(), topic_id, task_id, said)
    store.keep_newest(tx, access, session_key, limits.ROUTES_MAX)


def visible_routes(tx: Tx, access: Access, session_key: str) -> tuple[str, list[Route]]:
    """Return the key of a session, and where its messages went, as far as the caller may see that."""
    try:
        name = _routed_as(tx, access, session_key)
    except Refusal:
        # A session that the caller may not see looks like one without routes.
        return session_key, []
    found = store.routes_of(tx, access, name)
    seen = {topic.id for topic in topics_by_id(tx, access, {route.topic_id for route in found})}
    return name, [route for route in found if route.topic_id in seen]


def add_route(tx: Tx, access: Access, session_key: str, topic_id: str, task_id: str | None, anchor: str) -> None:
    """Record a person's decision on where messages of a session belong."""
    name, topic = _routed_as(tx, access, session_key), readable_topic(tx, access, topic_id)
    if task_id is not None and readable_task(tx, access, task_id)[0].topic_id != topic.id:
        raise invalid("taskId", f"The task '{task_id[:80]}' belongs to another topic.")
    remember_route(tx, access, name, topic.id, task_id, anchor)


def _routed_as(tx: Tx, access: Access, session_key: str) -> str:
    """The name under which the routes of a session are kept."""
    key, bucket = session_of(tx, access, LogSource(session_key=session_key))
    return key or bucket or session_key


def infer_space(tx: Tx, access: Access, session_key: str) -> tuple[str, InferredFrom] | None:
    """Return the space from which a session sees the board, and its source; None if there is none.

    `session_key` is a lane's key, or the name under which entries were sent. What was given explicitly counts before
    what was inferred: the board key, then the newest entries, then routing memory.
    """
    if (named := _space_of_key(tx, access, session_key)) is not None:
        return named, "boardKey"
    if (said := _space_of_entries(tx, access, session_key)) is not None:
        return said, "entries"
    routes = store.routes_of(tx, access, session_key, 1)
    return (routes[0].space_id, "routing") if routes else None


def _space_of_key(tx: Tx, access: Access, session_key: str) -> str | None:
    topic_id, task_id = named_by(session_key)
    task = location_of_task(tx, access, task_id) if task_id is not None else None
    # A task without a space of its own is where its topic is.
    if task is not None and (task.space_id != DEFAULT_SPACE or task.topic_id is None):
        return task.space_id
    of_topic = (task.topic_id if task is not None else None) or topic_id
    topic = location_of_topic(tx, access, of_topic) if of_topic is not None else None
    return None if topic is None else topic.space_id


def named_by(session_key: str) -> tuple[str | None, str | None]:
    """Return the topic and the task that a board key, or the key of a topic or task lane, names."""
    if (named := board_key(session_key)) is not None:
        return named.topic_id, named.task_id
    try:
        lane = SessionKey.parse(session_key)
    except Refusal:
        return None, None
    return lane.topic_id, lane.task_id


def _space_of_entries(tx: Tx, access: Access, session_key: str) -> str | None:
    newest = store.newest_spaces(tx, access, session_key, limit=limits.SPACE_ENTRIES_READ)
    scoped = (_read(source).get("boardScopeSpaceId") for _, source in newest if source)
    given = (space_id for space_id, _ in newest)
    return next(filter(None, scoped), None) or next(filter(None, given), None)


def prune_routes(tx: Tx, access: Access) -> int:
    """Delete the routes of sessions that have been quiet for long; return how many."""
    before = tx.now - limits.ROUTE_DAYS_MAX * MS_PER_DAY
    return store.delete_routes_before(tx, access, before, limit=limits.PRUNE_ROWS_MAX)

"""The SQL of lanes and sessions."""

import re

from msgspec import Struct

from carrel.kernel import INTERNAL_CHANNEL, Access, Grammar, SessionKey
from carrel.sessions.model import CHANNEL_KINDS, Lane, LaneFilter, LaneRow, Session, stored_channel
from carrel.storage import Row, Table, Tx, in_list
from carrel.visibility import seen_lanes, seen_tasks

LANE_TABLE = Table("lanes", Lane, key=("account_id", "key"))
_SESSIONS = Table("sessions", Session)
_LANE = "account_id = :account AND key = :key"
_OF_TASK_CALLED = (
    "(l.kind = 'task' AND EXISTS (SELECT 1 FROM tasks t WHERE t.account_id = :account "
    "AND t.id = substr(l.conversation, 6) AND lower(t.title) LIKE :like ESCAPE '!' AND {seen}))"
)
_LIKE_SIGNS = re.compile("[!%_]")
# Rung when a folder of files is no longer needed.
LEFTOVERS = "leftovers"


def lane_of(tx: Tx, access: Access, key: SessionKey) -> Lane | None:
    """Return one lane."""
    return LANE_TABLE.row(tx.one(f"{LANE_TABLE.select} WHERE {_LANE}", access, key=str(key)))


def lock_lane(tx: Tx, access: Access, key: str) -> Lane | None:
    """Return one lane, locked until the end of the transaction; a queue changes only under this lock."""
    return LANE_TABLE.row(tx.one(f"{LANE_TABLE.select} WHERE {_LANE} FOR UPDATE", access, key=key))


def insert_lane(tx: Tx, access: Access, key: SessionKey) -> None:
    """Create a lane unless it exists; an existing one stays as it is."""
    tx.pipeline(
        "INSERT INTO lanes (account_id, key, agent_id, kind, conversation, made_by, created_at, updated_at) VALUES "
        "(:account, :key, :agent, :kind, :conversation, :made_by, :now, :now) ON CONFLICT DO NOTHING",
        access, key=str(key), agent=key.agent, kind=key.kind, conversation=key.conversation,
        made_by=access.actor_id, now=tx.now,
    )  # fmt: skip


def lanes_by_conversation(tx: Tx, access: Access, conversation: str) -> list[Lane]:
    """Return the lanes that a bare conversation key may mean."""
    return LANE_TABLE.all(tx, access, "conversation = :conversation ORDER BY key", conversation=conversation)


def lanes_of_agent(tx: Tx, access: Access, agent_id: str) -> list[Lane]:
    """Return every lane of one agent."""
    return LANE_TABLE.all(tx, access, "agent_id = :agent ORDER BY key", agent=agent_id)


def children_of(tx: Tx, access: Access, key: str) -> list[str]:
    """Return the keys spawned directly from a lane."""
    sql = "SELECT key FROM lanes WHERE account_id = :account AND spawned_by = :key ORDER BY key"
    return [row[0] for row in tx.all(sql, access, key=key)]


def update_lane(tx: Tx, access: Access, lane: Lane) -> None:
    """Write the settings that people made on a lane."""
    sql = (
        "UPDATE lanes SET label = :label, display_name = :display_name, send_policy = :send_policy, model = :model, "
        "recall = :recall, thinking_level = :thinking_level, verbose_level = :verbose_level, pinned_at = :pinned_at "
        f"WHERE {_LANE}"
    )
    tx.run(sql, access, **LANE_TABLE.values(lane))


def hide_lane(tx: Tx, access: Access, key: str) -> None:
    tx.run(f"UPDATE lanes SET archived_at = :now WHERE {_LANE}", access, key=key, now=tx.now)


def show_lane(tx: Tx, access: Access, key: str) -> None:
    """Show a lane in lists again, as just used: an idle sub-agent would otherwise be archived at once."""
    tx.run(f"UPDATE lanes SET archived_at = NULL, updated_at = :now WHERE {_LANE}", access, key=key, now=tx.now)


def note_tokens(tx: Tx, access: Access, key: str, tokens: int) -> None:
    """Record how many tokens the lane's last run used."""
    sql = f"UPDATE lanes SET total_tokens = total_tokens + :tokens, last_tokens = :tokens WHERE {_LANE}"
    tx.pipeline(sql, access, key=key, tokens=tokens)


def delete_lane(tx: Tx, access: Access, key: str) -> None:
    """Delete a lane, its generations and the pointers to it; its entries and runs must be gone."""
    for table in ("pointers", "sessions", "lanes"):
        tx.run(f"DELETE FROM {table} WHERE {_LANE}", access, key=key)


def issue_generation(tx: Tx, access: Access, key: str) -> int:
    """Return the next generation number of a key; numbers are never reused."""
    row = tx.one(f"UPDATE lanes SET generation = generation + 1 WHERE {_LANE} RETURNING generation", access, key=key)
    assert row is not None
    return int(row[0])


def insert_session(tx: Tx, access: Access, session: Session) -> None:
    """Write a new open generation; the schema rejects a second one."""
    tx.pipeline(_SESSIONS.insert, access, **_SESSIONS.values(session))


def open_session_of(tx: Tx, access: Access, key: str) -> Session | None:
    """Return the open generation of a key."""
    return _SESSIONS.row(tx.one(f"{_SESSIONS.select} WHERE {_LANE} AND closed_at IS NULL", access, key=key))


def open_session_has_entries(tx: Tx, access: Access, key: str, count: int) -> bool:
    """Return True when the open generation of a key has at least `count` entries."""
    sql = (
        "SELECT 1 FROM entries WHERE account_id = :account AND session_id = "
        f"(SELECT id FROM sessions WHERE {_LANE} AND closed_at IS NULL) ORDER BY seq LIMIT 1 OFFSET :before"
    )
    return tx.one(sql, access, key=key, before=count - 1) is not None


def session_by_id(tx: Tx, access: Access, session_id: str) -> Session | None:
    """Return one generation by its id."""
    return _SESSIONS.one(tx, access, "id = :id", id=session_id)


def generations_of(tx: Tx, access: Access, key: str) -> list[Session]:
    """Return every kept generation of a key, newest first."""
    return _SESSIONS.all(tx, access, "key = :key ORDER BY generation DESC", key=key)


def generation_of(tx: Tx, access: Access, key: str, generation: int) -> Session | None:
    return _SESSIONS.one(tx, access, "key = :key AND generation = :generation", key=key, generation=generation)


def close_session(tx: Tx, access: Access, session_id: str, reason: str) -> None:
    sql = "UPDATE sessions SET closed_at = :now, closed_reason = :reason WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=session_id, now=tx.now, reason=reason)


def reopen_session(tx: Tx, access: Access, session_id: str) -> None:
    """Open a generation that archiving closed; the schema rejects it while another one is open."""
    sql = (
        "UPDATE sessions SET closed_at = NULL, closed_reason = NULL "
        "WHERE account_id = :account AND id = :id AND closed_reason = 'archived'"
    )
    tx.run(sql, access, id=session_id)


def change_closed_reason(tx: Tx, access: Access, session_id: str, reason: str) -> None:
    """Change the reason why a generation is closed, but not when it was closed."""
    sql = "UPDATE sessions SET closed_reason = :reason WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=session_id, reason=reason)


def closed_sessions_before(tx: Tx, access: Access, moment: int, *, limit: int) -> list[Session]:
    """Return generations closed before a moment that no run belongs to, in the order to lock their lanes."""
    sql = (
        f"{_SESSIONS.select} s WHERE account_id = :account AND closed_at < :moment AND NOT EXISTS "
        "(SELECT 1 FROM runs r WHERE r.account_id = s.account_id AND r.key = s.key AND r.session_id = s.id) "
        "ORDER BY key, generation LIMIT :limit"
    )
    return _SESSIONS.rows(tx.all(sql, access, moment=moment, limit=limit))


def delete_session(tx: Tx, access: Access, session_id: str) -> None:
    """Delete one generation; its entries must be gone."""
    tx.run("DELETE FROM sessions WHERE account_id = :account AND id = :id", access, id=session_id)


def lane_rows(
    tx: Tx, access: Access, wanted: LaneFilter, *, before: tuple[int, str] | None, limit: int
) -> list[LaneRow]:
    """Return the lanes that the caller may see, newest first, after a cursor of (updated_at, key)."""
    where, values = _conditions(tx, access, wanted)
    seen, more = seen_lanes(tx, access)
    where.append(seen)
    values |= more
    if before is not None:
        where.append("(l.updated_at, l.key) < (:before_at, :before_key)")
        values |= {"before_at": before[0], "before_key": before[1]}
    return _rows(tx, access, where, values, f"ORDER BY l.updated_at DESC, l.key DESC LIMIT {int(limit)}")


def lane_row(tx: Tx, access: Access, key: str) -> LaneRow | None:
    """Return one lane as lists show it."""
    rows = _rows(tx, access, ["l.account_id = :account", "l.key = :key"], {"key": key}, "")
    return rows[0] if rows else None


def _conditions(tx: Tx, access: Access, wanted: LaneFilter) -> tuple[list[str], dict[str, object]]:
    where = ["l.account_id = :account", f"l.archived_at IS {'NOT ' if wanted.archived else ''}NULL"]
    values: dict[str, object] = {}
    if wanted.q:
        searched = ("l.key", "COALESCE(l.label, '')", "COALESCE(l.display_name, '')")
        matches = [f"lower({column}) LIKE :like ESCAPE '!'" for column in searched]
        task, values = seen_tasks(tx, access, table="t")
        # A task lane has the task's title.
        matches.append(_OF_TASK_CALLED.format(seen=task))
        where.append(f"({' OR '.join(matches)})")
        values["like"] = "%" + _LIKE_SIGNS.sub(r"!\g<0>", wanted.q.lower()) + "%"
    if wanted.pinned:
        where.append("l.pinned_at IS NOT NULL")
    if wanted.kinds:
        listed, kinds = in_list("kind", wanted.kinds)
        where.append(f"l.kind IN ({listed})")
        values |= kinds
    if wanted.channel is not None:
        where.append(_in_channel(wanted.channel))
        values |= {} if wanted.channel in (INTERNAL_CHANNEL, "unknown") else {"channel": stored_channel(wanted.channel)}
    for column in ("agent_id", "made_by", "last_to", "spawned_by"):
        value = getattr(wanted, column)
        if value is not None:
            where.append(f"l.{column} = :{column}")
            values[column] = value
    if wanted.task_id is not None:
        where.append("l.kind = 'task' AND l.conversation = :task")
        values["task"] = f"task:{wanted.task_id}"
    if wanted.updated_since is not None:
        where.append("l.updated_at >= :since")
        values["since"] = wanted.updated_since
    if wanted.state is not None:
        where.append(_IN_STATE[wanted.state])
    return where, values


def _in_channel(channel: str) -> str:
    """Return the condition for a lane's shown channel; `shown_channel` of the model has the rule itself."""
    if channel == INTERNAL_CHANNEL:
        return f"l.kind IN ({_quoted(Grammar.INTERNAL_KINDS)})"
    others = f"l.kind NOT IN ({_quoted((*Grammar.INTERNAL_KINDS, *CHANNEL_KINDS))})"
    if channel == "unknown":
        return f"{others} AND l.last_channel IS NULL"
    return (
        f"((l.kind IN ({_quoted(CHANNEL_KINDS)}) AND l.key LIKE 'agent:' || l.agent_id || ':' || :channel || ':%') OR "
        f"({others} AND l.last_channel = :channel))"
    )


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


_BUSY = "EXISTS (SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key AND r.state = 'running')"
# The newest generation is closed; a lane without a generation is idle.
_CLOSED = "(s.closed_at IS NOT NULL)"
_LAST_END = (
    "(SELECT e.state FROM runs e WHERE e.account_id = l.account_id AND e.key = l.key AND e.ended_at IS NOT NULL "
    "ORDER BY e.id DESC LIMIT 1)"
)
_IN_STATE = {"busy": _BUSY, "idle": f"NOT {_BUSY} AND NOT {_CLOSED}", "closed": f"NOT {_BUSY} AND {_CLOSED}"}
_SELECT_ROW = (
    f"SELECT {LANE_TABLE.columns_of('l')}, {_SESSIONS.columns_of('s')}, g.slug, {_BUSY}, {_LAST_END} FROM lanes l "
    "JOIN agents g ON g.account_id = l.account_id AND g.id = l.agent_id "
    "LEFT JOIN sessions s ON s.account_id = l.account_id AND s.key = l.key AND s.generation = "
    "(SELECT max(n.generation) FROM sessions n WHERE n.account_id = l.account_id AND n.key = l.key)"
)


def _rows(tx: Tx, access: Access, where: list[str], values: dict[str, object], tail: str) -> list[LaneRow]:
    rows = tx.all(f"{_SELECT_ROW} WHERE {' AND '.join(where)} {tail}", access, **values)
    return [_lane_row(row) for row in rows]


def _lane_row(row: Row) -> LaneRow:
    lane, session = row[: len(LANE_TABLE.fields)], row[len(LANE_TABLE.fields) : -3]
    found = None if session[0] is None else _SESSIONS.row(session)
    return LaneRow(LANE_TABLE.row(lane), found, row[-3], bool(row[-2]), row[-1])


class NewChild(Struct, frozen=True, kw_only=True):
    """A lane to be spawned."""

    key: SessionKey
    spawned_by: SessionKey
    sandboxed: bool = False
    label: str | None = None
    model: str | None = None
    thinking_level: str | None = None
    # The folder of the files it was given, and their receipt, as JSON.
    files: str | None = None


def insert_child(tx: Tx, access: Access, child: NewChild) -> None:
    """Create a spawned lane; its key must be new."""
    key = child.key
    tx.pipeline(
        "INSERT INTO lanes (account_id, key, agent_id, kind, conversation, made_by, spawned_by, sandboxed, label, "
        "model, thinking_level, files, created_at, updated_at) VALUES (:account, :key, :agent, :kind, :conversation, "
        ":made_by, :spawned_by, :sandboxed, :label, :model, :thinking_level, :files, :now, :now)",
        access, key=str(key), agent=key.agent, kind=key.kind, conversation=key.conversation,
        made_by=access.actor_id, spawned_by=str(child.spawned_by), sandboxed=int(child.sandboxed), label=child.label,
        model=child.model, thinking_level=child.thinking_level, files=child.files, now=tx.now,
    )  # fmt: skip


def count_live_children(tx: Tx, access: Access, key: str) -> int:
    """Return how many lanes spawned from a lane have a queued, running or waiting run."""
    sql = (
        "SELECT count(*) FROM lanes l WHERE l.account_id = :account AND l.spawned_by = :key AND (l.depth > 0 OR EXISTS "
        "(SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key AND r.state = 'waiting'))"
    )
    return tx.value(sql, access, key=key) or 0


def idle_children(tx: Tx, access: Access, agent_id: str, before: int, *, limit: int) -> list[Lane]:
    """Return lanes spawned by an agent's lanes in which nothing has happened since a moment, by key."""
    sql = (
        f"{LANE_TABLE.select} l WHERE l.account_id = :account AND l.kind = 'subagent' "
        "AND l.archived_at IS NULL AND l.updated_at < :before AND l.depth = 0 AND l.spawned_by LIKE :like ESCAPE '!' "
        "AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key "
        "AND (r.ended_at IS NULL OR r.ended_at >= :before)) ORDER BY l.key LIMIT :limit"
    )
    like = f"agent:{agent_id.replace('_', '!_')}:%"
    return LANE_TABLE.rows(tx.all(sql, access, before=before, like=like, limit=limit))


def leave_files(tx: Tx, access: Access, lane: Lane) -> None:
    """Record that the files a lane was given are no longer needed; the sweeper deletes them."""
    if lane.files is None:
        return
    sql = "INSERT INTO leftovers (account_id, id, files, left_at) VALUES (:account, :id, :files, :now)"
    tx.run(sql, access, id=tx.new_id("lft"), files=lane.files, now=tx.now)
    tx.run("UPDATE lanes SET files = NULL WHERE account_id = :account AND key = :key", access, key=lane.key)
    tx.wake(LEFTOVERS)


def leftovers_of(tx: Tx, access: Access, *, limit: int) -> list[tuple[str, str]]:
    """Return (id, files) of what to delete, oldest first."""
    sql = "SELECT id, files FROM leftovers WHERE account_id = :account ORDER BY id LIMIT :limit"
    return [(row[0], row[1]) for row in tx.all(sql, access, limit=limit)]


def forget_leftover(tx: Tx, access: Access, leftover_id: str) -> None:
    """Record that the files are deleted."""
    tx.run("DELETE FROM leftovers WHERE account_id = :account AND id = :id", access, id=leftover_id)

"""The SQL of lanes, sessions and pointers."""

import re

from carrel.kernel import INTERNAL_CHANNEL, INTERNAL_KINDS, Access, SessionKey
from carrel.sessions.model import CHANNEL_KINDS, Lane, LaneFilter, LaneRow, Session, stored_channel
from carrel.storage import Row, Tx

_LANE_FIELDS = Lane.__struct_fields__
_SESSION_FIELDS = Session.__struct_fields__
_LANE = ", ".join(_LANE_FIELDS)
_SESSION = ", ".join(_SESSION_FIELDS)
_LIKE_SIGNS = re.compile("[!%_]")


def lane_of(tx: Tx, access: Access, key: SessionKey) -> Lane | None:
    """One lane."""
    row = tx.one(
        f"SELECT {_LANE} FROM lanes WHERE account_id = :account AND key = :key", account=access.account_id, key=str(key)
    )
    return None if row is None else Lane(*row)


def lock_lane(tx: Tx, access: Access, key: str) -> Lane | None:
    """One lane, held until the end of the transaction: whoever changes its queue goes through here or enters it."""
    row = tx.one(
        f"SELECT {_LANE} FROM lanes WHERE account_id = :account AND key = :key FOR UPDATE",
        account=access.account_id,
        key=key,
    )
    return None if row is None else Lane(*row)


def insert_lane(tx: Tx, access: Access, key: SessionKey, *, spawned_by: str | None = None) -> None:
    """Make a lane where there is none; one that is there stays as it is."""
    tx.run(
        "INSERT INTO lanes (account_id, key, agent_id, kind, conversation, made_by, spawned_by, "
        "created_at, updated_at) "
        "VALUES (:account, :key, :agent, :kind, :conversation, :made_by, :spawned_by, :now, :now) ON "
        "CONFLICT DO NOTHING",
        account=access.account_id,
        key=str(key),
        agent=key.agent,
        kind=key.kind,
        conversation=key.conversation,
        made_by=access.actor_id,
        spawned_by=spawned_by,
        now=tx.now,
    )


def lanes_by_conversation(tx: Tx, access: Access, conversation: str) -> list[Lane]:
    """The lanes a bare conversation key may mean."""
    rows = tx.all(
        f"SELECT {_LANE} FROM lanes WHERE account_id = :account AND conversation = :conversation ORDER BY key",
        account=access.account_id,
        conversation=conversation,
    )
    return [Lane(*row) for row in rows]


def lanes_of_agent(tx: Tx, access: Access, agent_id: str) -> list[Lane]:
    """Every lane of one agent."""
    rows = tx.all(
        f"SELECT {_LANE} FROM lanes WHERE account_id = :account AND agent_id = :agent ORDER BY key",
        account=access.account_id,
        agent=agent_id,
    )
    return [Lane(*row) for row in rows]


def children_of(tx: Tx, access: Access, key: str) -> list[str]:
    """The keys spawned directly from a lane."""
    rows = tx.all(
        "SELECT key FROM lanes WHERE account_id = :account AND spawned_by = :key ORDER BY key",
        account=access.account_id,
        key=key,
    )
    return [row[0] for row in rows]


_TREE = (
    "WITH RECURSIVE tree (key) AS (SELECT CAST(:root AS TEXT) UNION SELECT c.key FROM lanes c JOIN tree t "
    "ON c.spawned_by = t.key WHERE c.account_id = :account) SELECT key FROM tree"
)


def spawned_from(tx: Tx, access: Access, key: str, root: str) -> bool:
    """True when a lane was spawned from another, at whatever remove; a lane counts as spawned from itself."""
    row = tx.one(f"SELECT 1 FROM ({_TREE}) AS t WHERE t.key = :key", account=access.account_id, root=root, key=key)
    return row is not None


def update_lane(tx: Tx, access: Access, lane: Lane) -> None:
    """Write what people set on a lane."""
    tx.run(
        "UPDATE lanes SET label = :label, display_name = :display_name, send_policy = :send_policy, model = :model, "
        "thinking_level = :thinking_level, verbose_level = :verbose_level WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=lane.key,
        label=lane.label,
        display_name=lane.display_name,
        send_policy=lane.send_policy,
        model=lane.model,
        thinking_level=lane.thinking_level,
        verbose_level=lane.verbose_level,
    )


def archive_lane(tx: Tx, access: Access, key: str, archived_at: int | None) -> None:
    """Hide a lane from lists, or show it again."""
    tx.run(
        "UPDATE lanes SET archived_at = :archived_at WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
        archived_at=archived_at,
    )


def note_tokens(tx: Tx, access: Access, key: str, tokens: int) -> None:
    """Remember what the lane's last run cost."""
    tx.run(
        "UPDATE lanes SET total_tokens = total_tokens + :tokens, last_tokens = :tokens "
        "WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
        tokens=tokens,
    )


def delete_lane(tx: Tx, access: Access, key: str) -> None:
    """Forget a lane, its generations and the pointers to it; entries and runs must be gone."""
    values = {"account": access.account_id, "key": key}
    tx.run("DELETE FROM pointers WHERE account_id = :account AND key = :key", **values)
    tx.run("DELETE FROM sessions WHERE account_id = :account AND key = :key", **values)
    tx.run("DELETE FROM lanes WHERE account_id = :account AND key = :key", **values)


def issue_generation(tx: Tx, access: Access, key: str) -> int:
    """The next generation number of a key, never issued before."""
    row = tx.one(
        "UPDATE lanes SET generation = generation + 1 WHERE account_id = :account AND key = :key RETURNING generation",
        account=access.account_id,
        key=key,
    )
    assert row is not None
    return int(row[0])


def insert_session(tx: Tx, access: Access, session: Session) -> None:
    """Write a new open generation; the schema refuses a second one."""
    tx.run(
        f"INSERT INTO sessions (account_id, {_SESSION}) VALUES (:account, "
        f"{', '.join(f':{name}' for name in _SESSION_FIELDS)})",
        account=access.account_id,
        **{name: getattr(session, name) for name in _SESSION_FIELDS},
    )


def open_session_of(tx: Tx, access: Access, key: str) -> Session | None:
    """The open generation of a key."""
    row = tx.one(
        f"SELECT {_SESSION} FROM sessions WHERE account_id = :account AND key = :key AND closed_at IS NULL",
        account=access.account_id,
        key=key,
    )
    return None if row is None else Session(*row)


def session_by_id(tx: Tx, access: Access, session_id: str) -> Session | None:
    """One generation by its id."""
    row = tx.one(
        f"SELECT {_SESSION} FROM sessions WHERE account_id = :account AND id = :id",
        account=access.account_id,
        id=session_id,
    )
    return None if row is None else Session(*row)


def generations_of(tx: Tx, access: Access, key: str) -> list[Session]:
    """Every kept generation of a key, newest first."""
    rows = tx.all(
        f"SELECT {_SESSION} FROM sessions WHERE account_id = :account AND key = :key ORDER BY generation DESC",
        account=access.account_id,
        key=key,
    )
    return [Session(*row) for row in rows]


def close_session(tx: Tx, access: Access, session_id: str, reason: str) -> bool:
    """Close a generation for good; False when it was closed already."""
    return bool(
        tx.run(
            "UPDATE sessions SET closed_at = :now, closed_reason = :reason "
            "WHERE account_id = :account AND id = :id AND closed_at IS NULL",
            account=access.account_id,
            id=session_id,
            now=tx.now,
            reason=reason,
        )
    )


def closed_sessions_before(tx: Tx, access: Access, moment: int, *, limit: int) -> list[Session]:
    """Generations closed before a moment that no kept run is bound to."""
    rows = tx.all(
        f"SELECT {_SESSION} FROM sessions s WHERE account_id = :account AND closed_at < :moment AND NOT EXISTS "
        "(SELECT 1 FROM runs r WHERE r.account_id = s.account_id AND r.key = s.key AND r.session_id "
        "= s.id) LIMIT :limit",
        account=access.account_id,
        moment=moment,
        limit=limit,
    )
    return [Session(*row) for row in rows]


def delete_session(tx: Tx, access: Access, session_id: str) -> None:
    """Forget one generation; its entries must be gone."""
    tx.run("DELETE FROM sessions WHERE account_id = :account AND id = :id", account=access.account_id, id=session_id)


def has_lanes_of_others(tx: Tx, access: Access, agent_id: str) -> bool:
    """True when the account has lanes of any other agent."""
    row = tx.one(
        "SELECT 1 FROM lanes WHERE account_id = :account AND agent_id <> :agent LIMIT 1",
        account=access.account_id,
        agent=agent_id,
    )
    return row is not None


def lane_rows(
    tx: Tx, access: Access, wanted: LaneFilter, *, before: tuple[int, str] | None, limit: int
) -> list[LaneRow]:
    """Lanes newest first, behind a cursor of (updated_at, key)."""
    where, values = _conditions(access, wanted)
    if before is not None:
        where.append("(l.updated_at, l.key) < (:before_at, :before_key)")
        values |= {"before_at": before[0], "before_key": before[1]}
    return _rows(tx, where, values, f"ORDER BY l.updated_at DESC, l.key DESC LIMIT {int(limit)}")


def lane_row(tx: Tx, access: Access, key: str) -> LaneRow | None:
    """One lane as lists show it."""
    rows = _rows(tx, ["l.account_id = :account", "l.key = :key"], {"account": access.account_id, "key": key}, "")
    return rows[0] if rows else None


def is_narrowed(tx: Tx, access: Access, wanted: LaneFilter) -> bool:
    """True when the account has lanes that such a list leaves out."""
    where, values = _conditions(access, wanted)
    row = tx.one(
        "SELECT 1 FROM lanes o WHERE o.account_id = :account AND o.archived_at IS NULL AND NOT EXISTS "
        f"(SELECT 1 FROM lanes l WHERE l.key = o.key AND {' AND '.join(where)}) LIMIT 1",
        **values,
    )
    return row is not None


def pointer(tx: Tx, access: Access, transport: str) -> str | None:
    """The key a transport points to."""
    row = tx.one(
        "SELECT key FROM pointers WHERE account_id = :account AND transport = :transport",
        account=access.account_id,
        transport=transport,
    )
    return row[0] if row else None


def set_pointer(tx: Tx, access: Access, transport: str, key: str) -> None:
    """Let a transport point to a lane."""
    tx.run(
        "INSERT INTO pointers (account_id, transport, key, updated_at) VALUES (:account, :transport, :key, :now) "
        "ON CONFLICT (account_id, transport) DO UPDATE SET key = excluded.key, updated_at = excluded.updated_at",
        account=access.account_id,
        transport=transport,
        key=key,
        now=tx.now,
    )


def transports_to(tx: Tx, access: Access, key: str) -> list[str]:
    """The transports that point to a lane."""
    rows = tx.all(
        "SELECT transport FROM pointers WHERE account_id = :account AND key = :key", account=access.account_id, key=key
    )
    return [row[0] for row in rows]


def newest_chat(tx: Tx, access: Access, channel: str, made_by: str, but: str) -> str | None:
    """The most recent chat of one maker on a channel, leaving one key out."""
    row = tx.one(
        "SELECT key FROM lanes WHERE account_id = :account AND kind = 'chat' AND made_by = :made_by "
        "AND archived_at IS NULL "
        "AND key <> :but AND key LIKE :like ORDER BY updated_at DESC, key DESC LIMIT 1",
        account=access.account_id,
        made_by=made_by,
        but=but,
        like=f"agent:%:{channel}:%",
    )
    return row[0] if row else None


def _conditions(access: Access, wanted: LaneFilter) -> tuple[list[str], dict[str, object]]:
    where = ["l.account_id = :account", f"l.archived_at IS {'NOT ' if wanted.archived else ''}NULL"]
    values: dict[str, object] = {"account": access.account_id}
    if wanted.q:
        searched = ("l.key", "COALESCE(l.label, '')", "COALESCE(l.display_name, '')")
        matches = [f"lower({column}) LIKE :like ESCAPE '!'" for column in searched]
        where.append(f"({' OR '.join(matches)})")
        values["like"] = "%" + _LIKE_SIGNS.sub(r"!\g<0>", wanted.q.lower()) + "%"
    if wanted.kinds:
        names = [f":kind_{'abcdefghijklmnopqrst'[at]}" for at in range(len(wanted.kinds))]
        where.append(f"l.kind IN ({', '.join(names)})")
        values |= {name[1:]: kind for name, kind in zip(names, wanted.kinds, strict=True)}
    if wanted.channel is not None:
        where.append(_in_channel(wanted.channel))
        values |= {} if wanted.channel in (INTERNAL_CHANNEL, "unknown") else {"channel": stored_channel(wanted.channel)}
    for column, value in (("agent_id", wanted.agent_id), ("made_by", wanted.made_by)):
        if value is not None:
            where.append(f"l.{column} = :{column}")
            values[column] = value
    if wanted.task_id is not None:
        where.append("l.kind = 'task' AND l.conversation = :task")
        values["task"] = f"task:{wanted.task_id}"
    if wanted.under is not None:
        names = [f"agent_{at}" for at in range(len(wanted.agent_ids))]
        agents = ", ".join(f":{name}" for name in names) or "NULL"
        where.append(f"(l.key IN ({_TREE}) OR l.agent_id IN ({agents}))")
        values |= {"root": wanted.under, **dict(zip(names, wanted.agent_ids, strict=True))}
    if wanted.key is not None:
        where.append("l.key = :only")
        values["only"] = wanted.key
    if wanted.updated_since is not None:
        where.append("l.updated_at >= :since")
        values["since"] = wanted.updated_since
    if wanted.state is not None:
        where.append(
            {"busy": _BUSY, "idle": f"NOT {_BUSY} AND NOT {_CLOSED}", "closed": f"NOT {_BUSY} AND {_CLOSED}"}[
                wanted.state
            ]
        )
    return where, values


def _in_channel(channel: str) -> str:
    """Where a lane's shown channel is that one; the rule itself is `shown_channel` of the model."""
    if channel == INTERNAL_CHANNEL:
        return f"l.kind IN ({_quoted(INTERNAL_KINDS)})"
    if channel == "unknown":
        return f"l.kind NOT IN ({_quoted((*INTERNAL_KINDS, *CHANNEL_KINDS))}) AND l.last_channel IS NULL"
    return (
        f"((l.kind IN ({_quoted(CHANNEL_KINDS)}) AND l.key LIKE 'agent:' || l.agent_id || ':' || :channel || ':%') OR "
        f"(l.kind NOT IN ({_quoted((*INTERNAL_KINDS, *CHANNEL_KINDS))}) AND l.last_channel = :channel))"
    )


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


_BUSY = "EXISTS (SELECT 1 FROM runs r WHERE r.account_id = l.account_id AND r.key = l.key AND r.state = 'running')"
# The newest generation is closed; a lane that was never spoken in is idle.
_CLOSED = "(s.closed_at IS NOT NULL)"
_NEWEST = (
    "s.generation = (SELECT max(n.generation) FROM sessions n WHERE n.account_id = l.account_id AND n.key = l.key)"
)


def _rows(tx: Tx, where: list[str], values: dict[str, object], tail: str) -> list[LaneRow]:
    lane = ", ".join(f"l.{name}" for name in _LANE_FIELDS)
    session = ", ".join(f"s.{name}" for name in _SESSION_FIELDS)
    rows = tx.all(
        f"SELECT {lane}, {session}, g.slug, {_BUSY} FROM lanes l "
        "JOIN agents g ON g.account_id = l.account_id AND g.id = l.agent_id "
        f"LEFT JOIN sessions s ON s.account_id = l.account_id AND s.key = l.key AND {_NEWEST} "
        f"WHERE {' AND '.join(where)} {tail}",
        **values,
    )
    return [_lane_row(row) for row in rows]


def _lane_row(row: Row) -> LaneRow:
    lanes, sessions = len(_LANE_FIELDS), len(_SESSION_FIELDS)
    session = row[lanes : lanes + sessions]
    return LaneRow(Lane(*row[:lanes]), Session(*session) if session[0] is not None else None, row[-2], bool(row[-1]))

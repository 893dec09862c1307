"""The SQL of memories and their indexed words. Every read names the (scope, agent) pairs it may look at."""

from collections.abc import Iterable

from carrel.kernel import Access
from carrel.memory.model import Memory
from carrel.memory.scopes import GLOBAL_SCOPE
from carrel.storage import Condition, Table, Tx, json_column

_TABLE = Table("memories", Memory, codecs={"tags": json_column(tuple[str, ...])})
_SELECT = f"{_TABLE.select} WHERE account_id = :account"
_ALIVE = "superseded_by IS NULL AND (expires_at IS NULL OR expires_at > :now)"
_GLOBAL = str(GLOBAL_SCOPE)


def insert_memory(tx: Tx, access: Access, memory: Memory) -> bool:
    """Write a new memory; False if its scope has one that says the same."""
    return tx.run(f"{_TABLE.insert} ON CONFLICT DO NOTHING", access, **_TABLE.values(memory)) == 1


def update_memory(tx: Tx, access: Access, memory: Memory) -> None:
    tx.run(_TABLE.update, access, **_TABLE.values(memory))


def delete_memory(tx: Tx, access: Access, memory_id: str) -> None:
    """Delete a memory with its words."""
    tx.run("DELETE FROM memories WHERE account_id = :account AND id = :id", access, id=memory_id)


def delete_scope(tx: Tx, access: Access, scope: str, agent_id: str) -> int:
    sql = "DELETE FROM memories WHERE account_id = :account AND scope = :scope AND agent_id = :agent_id"
    return tx.run(sql, access, scope=scope, agent_id=agent_id)


def memory_by_id(tx: Tx, access: Access, memory_id: str, *, hold: bool = False) -> Memory | None:
    """Return one memory, in whatever scope; the caller decides whether it may be shown."""
    lock = " FOR UPDATE" if hold else ""
    return _TABLE.row(tx.one(f"{_SELECT} AND id = :id{lock}", access, id=memory_id))


def memory_saying(tx: Tx, access: Access, scope: str, agent_id: str, fingerprint: str) -> Memory | None:
    """Return the memory of a scope that says the same, or None."""
    sql = f"{_SELECT} AND scope = :scope AND agent_id = :agent_id AND fingerprint = :fingerprint"
    return _TABLE.row(tx.one(sql, access, scope=scope, agent_id=agent_id, fingerprint=fingerprint))


def newest_in(tx: Tx, access: Access, scope: str, agent_id: str, *, limit: int) -> list[Memory]:
    """Return the newest memories of a scope; those without a scope count as global."""
    rows = _newest(tx, access, "scope = :scope AND agent_id = :agent_id", limit, scope=scope, agent_id=agent_id)
    if scope == _GLOBAL:
        rows += _newest(tx, access, "scope IS NULL", limit)
        rows = sorted(rows, key=lambda memory: (memory.updated_at, memory.id), reverse=True)[:limit]
    return rows


def _newest(tx: Tx, access: Access, where: str, limit: int, **values: object) -> list[Memory]:
    sql = f"{_SELECT} AND {where} AND {_ALIVE} ORDER BY updated_at DESC, id DESC LIMIT :limit"
    return _TABLE.rows(tx.all(sql, access, now=tx.now, limit=limit, **values))


def has_memories(tx: Tx, access: Access, scope_keys: list[tuple[str, str]]) -> bool:
    """Return whether any of several scopes has a memory."""
    where, values = _within(scope_keys)
    sql = f"SELECT 1 FROM memories WHERE account_id = :account AND {where} LIMIT 1"
    return tx.one(sql, access, **values) is not None


def memories_listed(
    tx: Tx, access: Access, scope_keys: list[tuple[str, str]], *, kind: str | None, before: str | None, limit: int
) -> list[Memory]:  # fmt: skip
    """Return the valid memories of several scopes below an id, newest first."""
    where, values = _within(scope_keys)
    for condition, name, value in ((" AND type = :kind", "kind", kind), (" AND id < :before", "before", before)):
        if value is not None:
            where, values = where + condition, values | {name: value}
    sql = f"{_SELECT} AND {where} AND {_ALIVE} ORDER BY id DESC LIMIT :limit"
    return _TABLE.rows(tx.all(sql, access, now=tx.now, limit=limit, **values))


def _within(scope_keys: list[tuple[str, str]]) -> Condition:
    """The condition that a memory is in one of several scopes, and its values."""
    pairs, values = [], dict[str, object]()
    for at, (scope, agent_id) in enumerate(scope_keys):
        values |= {f"scope_{at}": scope, f"agent_{at}": agent_id}
        unscoped = " OR scope IS NULL" if scope == _GLOBAL else ""
        pairs.append(f"((scope = :scope_{at}{unscoped}) AND agent_id = :agent_{at})")
    return f"({' OR '.join(pairs)})", values


def put_words(tx: Tx, access: Access, memory: Memory, words: Iterable[str]) -> None:
    """Write the words that find a memory, replacing earlier ones."""
    sql = "DELETE FROM memory_words WHERE account_id = :account AND memory_id = :memory_id"
    tx.run(sql, access, memory_id=memory.id)
    key: dict[str, object] = {"account": access.account_id, "scope": memory.read_scope, "agent_id": memory.agent_id}
    tx.run_many(
        "INSERT INTO memory_words (account_id, scope, agent_id, word, memory_id) "
        "VALUES (:account, :scope, :agent_id, :word, :memory_id)",
        [key | {"word": word, "memory_id": memory.id} for word in words],
    )


def matching(tx: Tx, access: Access, scope: str, agent_id: str, word: str, *, limit: int) -> list[str]:
    """Return the ids of the newest memories of a scope that have a word."""
    sql = (
        "SELECT memory_id FROM memory_words WHERE account_id = :account AND scope = :scope AND agent_id = :agent_id "
        "AND word = :word ORDER BY memory_id DESC LIMIT :limit"
    )
    return [row[0] for row in tx.all(sql, access, scope=scope, agent_id=agent_id, word=word, limit=limit)]


def memories_named(tx: Tx, access: Access, memory_ids: Iterable[str]) -> list[Memory]:
    """Return the still valid ones of these memories."""
    return _TABLE.among(tx, access, "id", memory_ids, f"AND {_ALIVE}", now=tx.now)

"""What the schema itself refuses, whatever the code does; and that what is looked up often has an index."""

import re
from collections.abc import Callable

import apsw
import psycopg
import pytest

from carrel.kernel import Access, SessionKey, system_access
from carrel.storage import Tx, migrate, sqlite_path
from tests.harness.engine import MAIN, Engine, lane_key, open_engine
from tests.requirements.mark import requirement
from tests.storage.references import ONLY_NAMED

# What belongs to no account: the accounts themselves, and the store's own two counters.
OF_NO_ACCOUNT = {"accounts", "concurrency_locks", "ticks", "schema_version"}
REFUSED = (apsw.ConstraintError, psycopg.errors.IntegrityError)

POSTGRES_KEYS = """
SELECT c.conrelid::regclass::text, c.contype::text, COALESCE(c.confrelid::regclass::text, ''),
  (SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(c.conkey) WITH ORDINALITY k(att, n)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att),
  COALESCE((SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(c.confkey) WITH ORDINALITY k(att, n)
    JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att), '')
FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
WHERE n.nspname = 'public' AND c.contype IN ('p', 'f')
"""
# Not the tables behind an index of words, whose columns are SQLite's.
OWN_TABLES = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
Keys = tuple[dict[str, list[str]], list[tuple[str, str, list[str], list[str]]]]


def keys_of(url: str) -> Keys:
    """(primary key by table, [(table, referenced table, columns, referenced columns)])."""
    path = sqlite_path(url)
    if path is None:
        with psycopg.connect(url) as connection:
            rows = connection.execute(POSTGRES_KEYS).fetchall()
        listed = [
            row[0]
            for row in psycopg.connect(url).execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        ]
        primary = {table: [] for table in listed} | {row[0]: row[3].split(",") for row in rows if row[1] == "p"}
        return primary, [(row[0], row[2], row[3].split(","), row[4].split(",")) for row in rows if row[1] == "f"]
    file = apsw.Connection(str(path))
    tables = [row[0] for row in file.execute(OWN_TABLES) if not row[0].startswith("sqlite_")]
    primary, foreign = {}, []
    for table in tables:
        columns = sorted((row[5], row[1]) for row in file.execute(f"PRAGMA table_info({table})") if row[5])
        primary[table] = [name for _, name in columns]
        references: dict[int, list[tuple[str, str, str]]] = {}
        for row in file.execute(f"PRAGMA foreign_key_list({table})"):
            references.setdefault(row[0], []).append((row[2], row[3], row[4]))
        foreign += [
            (table, parts[0][0], [part[1] for part in parts], [part[2] for part in parts])
            for parts in references.values()
        ]
    file.close()
    return primary, foreign


@requirement("P.account.keys")
def test_in_every_table_the_account_leads_the_primary_key_and_every_reference(store_url: str) -> None:
    migrate(store_url)
    primary, foreign = keys_of(store_url)
    assert OF_NO_ACCOUNT & primary.keys() >= {"accounts"}
    assert len(primary) > 15
    for table, columns in primary.items():
        assert table in OF_NO_ACCOUNT or columns[:1] == ["account_id"], f"{table} has the primary key {columns}"
    assert len(foreign) > 15
    for table, referenced, columns, targets in foreign:
        wanted = "id" if referenced == "accounts" else "account_id"
        assert (columns[0], targets[0]) == ("account_id", wanted), f"{table} refers to {referenced} by {columns}"


REFERS = re.compile(r"(^|_)(key|ids?|by|from|for|author|recipient)$")


def columns_that_name(url: str) -> set[tuple[str, str]]:
    """(table, column) of every column whose name says that it names a row."""
    sql = f"SELECT m.name, c.name FROM ({OWN_TABLES}) m JOIN pragma_table_info(m.name) c"
    rows = apsw.Connection(str(sqlite_path(url))).execute(sql)
    return {(str(table), str(column)) for table, column in rows if REFERS.search(str(column))}


@requirement("P.account.keys")
def test_every_reference_is_a_foreign_key_or_stands_in_the_list_with_its_reason(sqlite_url: str) -> None:
    migrate(sqlite_url)
    _, foreign = keys_of(sqlite_url)
    kept = {(table, column) for table, _, columns, _ in foreign for column in columns}
    own = {(table, "id") for table in keys_of(sqlite_url)[0]}
    loose = columns_that_name(sqlite_url) - kept - own
    assert {f"{table}.{column}" for table, column in loose if not reason(table, column)} == set()
    used = {name for table, column in loose for name in (f"{table}.{column}", f"*.{column}")}
    assert ONLY_NAMED.keys() <= used, "remove what is a foreign key by now"
    assert all(len(text.split()) >= 4 for text in ONLY_NAMED.values())


def reason(table: str, column: str) -> str | None:
    return ONLY_NAMED.get(f"{table}.{column}") or ONLY_NAMED.get(f"*.{column}")


async def test_a_store_with_rows_gets_the_references_of_a_new_one(store_url: str, sqlite_url: str) -> None:
    async with open_engine(store_url) as engine:
        await engine.say(MAIN, "hello")
    migrate(sqlite_url)
    assert sorted(keys_of(store_url)[1]) == sorted(keys_of(sqlite_url)[1])


CALL_OF_ANOTHER = """
INSERT INTO calls (account_id, run_id, call_id, tool, effect, result, called_at)
SELECT :other, id, 'c', 't', 'write', '', 0 FROM runs WHERE account_id = :mine
"""
SESSION_OF_NO_AGENT = """
INSERT INTO sessions (account_id, id, key, generation, agent_id, agent_slug, resolution, opened_at)
VALUES (:mine, 'ses_1', :key, 1, 'painter', 'painter', 'opened', 0)
"""
ENTRY_OF_ANOTHER = """
INSERT INTO entries (account_id, seq, id, type, role, content, key, author, provenance, attachment_ids, created_at)
VALUES (:other, 1, 'e', 'conversation', 'user', '', :key, 'user', '{}', '[]', 0)
"""
OPEN_SESSION = """
INSERT INTO sessions
(account_id, id, key, generation, agent_id, agent_slug, resolution, opened_at, closed_at)
VALUES (:account, :id, :key, :generation, 'main', 'main', 'base', 0, :closed_at)
"""


async def two_accounts(engine: Engine) -> tuple[Access, Access]:
    other = await engine.another_account("acme")
    await engine.say(MAIN, "ours")
    return engine.access, other


@requirement("P.account.keys")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE lanes SET account_id = :other WHERE account_id = :mine",
        "UPDATE runs SET account_id = :other WHERE account_id = :mine",
        "INSERT INTO pointers (account_id, transport, key, updated_at) VALUES (:other, 'web', :key, 0)",
        "UPDATE runs SET agent_id = 'painter' WHERE account_id = :mine",
        "INSERT INTO task_counts (account_id, actor_id, agent_id, stripe, n) VALUES (:mine, 'a', 'painter', 0, 1)",
        SESSION_OF_NO_AGENT,
        CALL_OF_ANOTHER,
        ENTRY_OF_ANOTHER,
    ],
)
async def test_a_row_that_points_across_accounts_is_refused(engine: Engine, statement: str) -> None:
    mine, other = await two_accounts(engine)
    values = {"mine": mine.account_id, "other": other.account_id, "key": str(MAIN)}
    used = {name: value for name, value in values.items() if f":{name}" in statement}
    with pytest.raises(REFUSED):
        await engine.db.write(lambda tx: tx.run(statement, **used))


@requirement("S0.session.unique")
async def test_a_second_open_generation_of_a_key_is_refused_by_the_schema(engine: Engine) -> None:
    def open_raw(tx: Tx, generation: int, closed_at: int | None) -> None:
        tx.run(
            OPEN_SESSION,
            account=engine.access.account_id,
            id=f"ses_{generation}",
            key=str(MAIN),
            generation=generation,
            closed_at=closed_at,
        )

    await engine.say(MAIN, "hello")
    await engine.db.write(lambda tx: open_raw(tx, 1, 5))
    await engine.db.write(lambda tx: open_raw(tx, 2, None))
    with pytest.raises(REFUSED):
        await engine.db.write(lambda tx: open_raw(tx, 3, None))
    with pytest.raises(REFUSED):
        await engine.db.write(lambda tx: open_raw(tx, 2, 6))


def updating(change: str, run_id: str) -> Callable[[Tx], int]:
    return lambda tx: tx.run(f"UPDATE runs SET {change} WHERE id = :id", id=run_id)


@requirement("S1.dispatch.serial")
async def test_a_second_running_run_or_a_head_beside_it_is_refused_by_the_schema(engine: Engine) -> None:
    await engine.say(MAIN, "one")
    second = await engine.say(MAIN, "two")
    for change in ("due_at = 5", "state = 'running'"):
        with pytest.raises(REFUSED):
            await engine.db.write(updating(change, second.id))


OURS = "account_id = :account"
LANE = f"{OURS} AND key = :key"
LOOKUPS = {
    "the runs of a context": f"SELECT id FROM runs WHERE {LANE} ORDER BY id DESC LIMIT 50",
    "the queue of a lane": f"SELECT id FROM runs WHERE {LANE} AND state = 'queued' ORDER BY seq",
    "runs by a rare state": f"SELECT id FROM runs WHERE {OURS} AND state = 'failed' ORDER BY id DESC LIMIT 50",
    "runs that are due": "SELECT id FROM runs WHERE due_at <= :now ORDER BY due_at, seq LIMIT 64",
    "runs of a sender": f"SELECT id FROM runs WHERE {OURS} AND actor_id = :key AND sender_id = :key",
    "newest lanes": f"SELECT key FROM lanes WHERE {OURS} ORDER BY updated_at DESC, key DESC LIMIT 50",
    "newest tasks of a caller": f"SELECT id FROM runs WHERE {OURS} AND actor_id = :key AND agent_id = :key AND "
    "provenance_kind = 'a2a' ORDER BY updated_at DESC, id DESC LIMIT 50",
    "tasks of a caller by state": f"SELECT id FROM runs WHERE {OURS} AND actor_id = :key AND agent_id = :key AND "
    "state = 'failed' AND provenance_kind = 'a2a' ORDER BY updated_at DESC, id DESC LIMIT 50",
    "tasks of a context": f"SELECT id FROM runs WHERE {OURS} AND key = :key AND provenance_kind = 'a2a' "
    "ORDER BY updated_at DESC, id DESC LIMIT 50",
    "changes of a run": f"SELECT seq FROM events WHERE {OURS} AND run_id = :key AND change > :now ORDER BY change",
    "exchanges that are due": "SELECT id FROM exchanges WHERE due_at <= :now ORDER BY due_at LIMIT 50",
    "the exchange that waits for a run": f"SELECT id FROM exchanges WHERE {OURS} AND current_run_id = :key AND "
    "state = 'open'",
    "what follows after a run": f"SELECT id FROM exchanges WHERE {OURS} AND first_run_id = :key",
    "schedules that are due": "SELECT id FROM schedules WHERE due_at <= :now ORDER BY due_at LIMIT 100",
    "schedules of a session": f"SELECT id FROM schedules WHERE {LANE} AND id > :key ORDER BY id LIMIT 50",
    "webhooks that are due": "SELECT id FROM webhooks WHERE due_at <= :now ORDER BY due_at LIMIT 50",
    "entries of a session": f"SELECT seq FROM entries WHERE {OURS} AND session_id = :key ORDER BY seq DESC LIMIT 50",
    "a mailbox": f"SELECT id FROM notifications WHERE {OURS} AND recipient = :key ORDER BY id DESC LIMIT 50",
    "what is unread in a mailbox": f"SELECT count(*) FROM notifications WHERE {OURS} AND recipient = :key AND "
    "read_at IS NULL",
    "notifications past their time": f"SELECT id FROM notifications WHERE {OURS} AND id < :key ORDER BY id LIMIT 500",
    "events behind a cursor": f"SELECT seq FROM events WHERE {OURS} AND seq > :now ORDER BY seq LIMIT 500",
}


@requirement("S1.store.wal")
@pytest.mark.parametrize("statement", LOOKUPS.values(), ids=LOOKUPS.keys())
async def test_what_is_looked_up_often_uses_an_index_and_sorts_nothing(sqlite_url: str, statement: str) -> None:
    async with open_engine(sqlite_url) as engine:
        values = {"account": engine.access.account_id, "key": str(MAIN), "now": 1}
        used = {name: value for name, value in values.items() if f":{name}" in statement}
        rows = await engine.db.read(lambda tx: tx.all(f"EXPLAIN QUERY PLAN {statement}", **used))
    steps = [str(row[3]) for row in rows]
    assert all("USING" in step and ("INDEX" in step or "PRIMARY KEY" in step) for step in steps), steps
    assert not any("TEMP B-TREE" in step or step.startswith("SCAN") for step in steps if "due_at" not in statement), (
        steps
    )


async def test_a_lane_cannot_go_while_something_stands_in_it(engine: Engine) -> None:
    await engine.say(lane_key("x"), "hello")
    access = system_access(engine.access.account_id)
    with pytest.raises(REFUSED):
        await engine.db.write(
            lambda tx: tx.run(
                "DELETE FROM lanes WHERE account_id = :account AND key = :key",
                account=access.account_id,
                key=str(SessionKey.of("main", "hook:x")),
            )
        )

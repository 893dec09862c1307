"""Migrations, backups, restores, and a disk that is full."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import psycopg
import pytest

from carrel.kernel import Code, Refusal, system_access
from carrel.runs import run_by_id
from carrel.storage import NewerSchema, Tx, back_up, migrate, migrations, open_database, restore, sqlite_path
from carrel.storage.dialect import schema_for_sqlite, script_for
from tests.harness.engine import MAIN, accounts_of, lane_key, open_engine, opened
from tests.postgres import PostgresServer
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'carrel.db'}"


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


def run_script(url: str, script: str) -> list[tuple[object, ...]]:
    """Run SQL on a store behind the house's back."""
    path = sqlite_path(url)
    if path is None:
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(script.encode())
            return cursor.fetchall() if cursor.description else []
    path.parent.mkdir(parents=True, exist_ok=True)
    file = apsw.Connection(str(path))
    rows = file.execute(script).fetchall()
    file.close()
    return rows


def tables_of(url: str) -> set[str]:
    listed = (
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        if sqlite_path(url)
        else "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
    )
    return {str(row[0]) for row in run_script(url, listed)}


def test_migrations_are_applied_once_each_in_their_order(store_url: str) -> None:
    known = [migration.name for migration in migrations()]
    assert migrate(store_url) == known
    assert migrate(store_url) == []
    numbers = [migration.number for migration in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(store_url: str) -> None:
    migrate(store_url)
    newer = "PRAGMA user_version = 999" if sqlite_path(store_url) else "INSERT INTO schema_version VALUES (999)"
    run_script(store_url, newer)
    with pytest.raises(NewerSchema):
        migrate(store_url)
    with pytest.raises(NewerSchema):
        open_database(store_url)


def test_a_migration_that_fails_half_way_leaves_nothing(store_url: str) -> None:
    run_script(store_url, "CREATE TABLE events (mine TEXT)")
    with pytest.raises((apsw.Error, psycopg.Error)):
        migrate(store_url)
    assert tables_of(store_url) == {"events"}
    run_script(store_url, "DROP TABLE events")
    assert migrate(store_url)


async def test_several_servers_that_start_at_once_migrate_once(postgres_url: str) -> None:
    applied = await asyncio.gather(*(asyncio.to_thread(migrate, postgres_url) for _ in range(4)))
    assert sorted(len(names) for names in applied) == [0, 0, 0, len(migrations())]


FIRST_SQLITE = "CREATE TABLE ticks (value INTEGER NOT NULL) STRICT; INSERT INTO ticks VALUES (0)"
FIRST_POSTGRES = (
    "CREATE TABLE schema_version (number BIGINT NOT NULL); CREATE SEQUENCE ticks; "
    "CREATE FUNCTION tick() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT nextval(''ticks'')'"
)


def make_store_before(url: str, number: int) -> None:
    """Make a store as it was before a migration, with one run."""
    lite = sqlite_path(url) is not None
    run_script(url, FIRST_SQLITE if lite else FIRST_POSTGRES)
    for migration in migrations():
        if migration.number < number:
            done = "PRAGMA user_version={0}" if lite else "INSERT INTO schema_version VALUES ({0})"
            run_script(url, schema_for_sqlite(migration.script) if lite else script_for("postgresql", migration.script))
            run_script(url, done.format(migration.number))
    run_script(
        url,
        """
        INSERT INTO accounts VALUES ('acc_1', 'default', 'D', '{}', 0);
        INSERT INTO agents VALUES ('acc_1', 'main', 'main', 'M', 1, '{}', 0, 0);
        INSERT INTO lanes (account_id, key, agent_id, kind, conversation, made_by, created_at, updated_at)
            VALUES ('acc_1', 'agent:main:main', 'main', 'main', 'main', 'x', 0, 0);
        INSERT INTO runs (account_id, id, key, agent_id, seq, state, attempts_max, timeout_ms, actor_id, message_id,
            text, attachment_ids, provenance, provenance_kind, channel, created_at, updated_at)
            VALUES ('acc_1', 'run_1', 'agent:main:main', 'main', 1, 'failed', 1, 0, 'x', 'm', 'kept', '[]', '{}',
            'cron', 'api', 0, 0);
    """,
    )


def test_references_are_added_to_a_store_that_has_rows(sqlite_url: str) -> None:
    make_store_before(url := sqlite_url, 14)
    assert "0014_references" in migrate(url)
    assert run_script(url, "SELECT text FROM runs") == [("kept",)]
    with pytest.raises(apsw.ConstraintError):
        run_script(url, "PRAGMA foreign_keys=ON; UPDATE runs SET agent_id = 'nobody'")
    assert run_script(url, "PRAGMA integrity_check") == [("ok",)]


def test_a_row_that_refers_to_nothing_stops_the_migration_and_nothing_is_changed(sqlite_url: str) -> None:
    make_store_before(url := sqlite_url, 14)
    run_script(url, "UPDATE runs SET agent_id = 'nobody'")
    with pytest.raises(apsw.ConstraintError, match="a row of runs refers to a row of agents"):
        migrate(url)
    assert run_script(url, "PRAGMA user_version") == [(max(m.number for m in migrations() if m.number < 14),)]


def test_tasks_that_were_only_named_get_rows_and_their_threads_what_was_said(store_url: str) -> None:
    make_store_before(store_url, 15)
    run_script(
        store_url,
        """
        UPDATE runs SET task_id = 'task_1', created_at = 30;
        INSERT INTO sessions (account_id, id, key, generation, agent_id, agent_slug, resolution, task_id, opened_at,
            closed_at) VALUES ('acc_1', 'ses_1', 'agent:main:main', 1, 'main', 'main', 'base', 'task_1', 20, 25),
                              ('acc_1', 'ses_2', 'agent:main:main', 2, 'main', 'main', 'base', 'task_2', 40, NULL);
    """,
    )
    said = [
        ("ent_1", "conversation", "user", '{"kind":"external_user"}', "task_1"),
        ("ent_2", "conversation", "assistant", '{"kind":"internal_system"}', "task_1"),
        ("ent_3", "conversation", "user", '{"kind":"inter_session"}', "task_1"),
        ("ent_4", "action", "toolCall", '{"kind":"internal_system"}', "task_3"),
        ("ent_5", "conversation", "user", '{"kind":"external_user"}', None),
    ]
    for seq, (name, kind, role, source, task) in enumerate(said):
        task_id = "NULL" if task is None else f"'{task}'"
        run_script(
            store_url,
            f"""
            INSERT INTO entries (account_id, id, seq, type, role, content, author, author_kind, provenance, key,
                session_id, agent_id, channel, task_id, attachment_ids, created_at)
                VALUES ('acc_1', '{name}', {seq}, '{kind}', '{role}', 'x', 'user', 'user', '{source}',
                'agent:main:main', 'ses_1', 'main', 'api', {task_id}, '[]', 50)
        """,
        )
    assert "0015_tasks" in migrate(store_url)
    tasks = run_script(store_url, "SELECT id, status, created_by, created_at FROM tasks ORDER BY id")
    assert tasks == [
        ("task_1", "inbox", "import", 20), ("task_2", "inbox", "import", 40), ("task_3", "inbox", "import", 50),
    ]  # fmt: skip
    shown = run_script(store_url, "SELECT id FROM entries WHERE task_view = 'thread' ORDER BY id")
    assert shown == [("ent_1",), ("ent_2",)], "what a person said and what was answered"
    lite = "PRAGMA foreign_keys=ON; " if sqlite_path(store_url) else ""
    for table in ("runs", "sessions", "entries"):
        with pytest.raises((apsw.ConstraintError, psycopg.errors.ForeignKeyViolation)):
            run_script(store_url, f"{lite}UPDATE {table} SET task_id = 'nothing'")


def test_the_facts_that_a_run_was_shown_become_its_block(store_url: str) -> None:
    make_store_before(store_url, 27)
    for position, line in enumerate(("- [session] one", "- [global] two")):
        run_script(
            store_url,
            f"""
            INSERT INTO context_items (account_id, run_id, position, id, kind, section, scope, source, score, reason,
                line) VALUES ('acc_1', 'run_1', {position}, 'mem_{position}', 'memory', 'Kept facts:', 'global', 'x',
                0.5, 'why', '{line}')
        """,
        )
    assert "0027_contexts" in migrate(store_url)
    kept = run_script(store_url, "SELECT run_id, agent_id, mode, block, layers, omitted, degraded FROM contexts")
    block = "Kept facts:\n- [session] one\n- [global] two"
    assert kept == [("run_1", "main", "auto", block, '["A:memory"]', "{}", None)]
    lines = run_script(store_url, "SELECT id, score, line FROM context_lines ORDER BY position")
    assert lines == [("mem_0", 0.5, "- [session] one"), ("mem_1", 0.5, "- [global] two")]


@requirement("S1.store.backup")
async def test_a_backup_taken_while_others_write_opens_as_a_consistent_database(store_url: str, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    async with open_engine(store_url) as engine:
        for n in range(20):
            await engine.say(lane_key(f"l{n % 4}"), f"before {n}")
        async with asyncio.TaskGroup() as group:
            copying = group.create_task(asyncio.to_thread(engine.db.backup, target))
            spoken = 0
            while not copying.done():
                await engine.say(lane_key(f"l{spoken % 4}"), f"during {spoken}")
                spoken += 1
    assert spoken
    async with open_engine(f"sqlite:///{target}") as copy:
        rows = await copy.db.read(
            lambda tx: tx.all("SELECT l.depth, (SELECT count(*) FROM runs r WHERE r.key = l.key) FROM lanes l")
        )
        queued = await copy.db.read(lambda tx: tx.one("SELECT count(*) FROM events WHERE name = 'run.queued'"))
        assert all(depth == runs for depth, runs in rows)
        assert queued == (sum(runs for _, runs in rows),)
        assert sum(runs for _, runs in rows) >= 20
    assert run_script(f"sqlite:///{target}", "PRAGMA integrity_check") == [("ok",)]
    assert run_script(f"sqlite:///{target}", "PRAGMA foreign_key_check") == []


async def test_a_backup_can_be_restored_into_either_engine(store_url: str, tmp_path: Path, postgres_url: str) -> None:
    backup, file = tmp_path / "backup.db", f"sqlite:///{tmp_path / 'restored' / 'carrel.db'}"
    async with open_engine(store_url) as engine:
        kept = await engine.say(MAIN, "keep me")
        await engine.another_account("acme")
        last = await engine.db.write(lambda tx: tx.tick())
    await asyncio.to_thread(back_up, store_url, backup)
    for target in (file, postgres_url) if store_url != postgres_url else (file,):
        await asyncio.to_thread(restore, backup, target)
        async with opened(target) as restored:
            assert await accounts_of(restored) == ["default", "acme"]
            run = await restored.read(lambda tx: run_by_id(tx, system_access(kept.account_id), kept.id))
            assert run is not None
            assert (run.text, run.state, run.seq) == ("keep me", "queued", kept.seq)
            assert await restored.write(lambda tx: tx.tick()) > last - 1


async def test_a_backup_never_replaces_a_file_and_a_restore_never_fills_a_store_in_use(
    store_url: str, tmp_path: Path
) -> None:
    async with open_engine(store_url) as engine:
        await engine.say(MAIN, "hello")
    backup = tmp_path / "backup.db"
    back_up(store_url, backup)
    with pytest.raises(Refusal) as again:
        back_up(store_url, backup)
    with pytest.raises(Refusal) as filled:
        restore(backup, store_url)
    assert (again.value.code, filled.value.code) == (Code.CONFLICT, Code.CONFLICT)


FOREIGN_NAMES = [
    'CREATE TABLE "accounts (id) FROM STDIN; DROP TABLE runs; --" (id TEXT)',
    'ALTER TABLE agents ADD COLUMN "id) FROM STDIN; DROP TABLE runs; --" TEXT',
    "ALTER TABLE agents ADD COLUMN password TEXT",
    "CREATE VIEW pg_user AS SELECT 1 AS usesuper",
    "DROP TABLE pointers",
]


@pytest.mark.parametrize("change", FOREIGN_NAMES)
async def test_a_backup_with_other_tables_or_columns_than_ours_is_refused(
    change: str, tmp_path: Path, postgres_url: str
) -> None:
    backup = tmp_path / "backup.db"
    async with open_engine(f"sqlite:///{tmp_path / 'carrel.db'}") as engine:
        await asyncio.to_thread(engine.db.backup, backup)
    run_script(f"sqlite:///{backup}", change)
    with pytest.raises(Refusal, match="other tables or columns") as caught:
        await asyncio.to_thread(restore, backup, postgres_url)
    assert caught.value.code == Code.INVALID_PARAMS
    assert run_script(postgres_url, "SELECT count(*) FROM accounts") == [(0,)]
    assert "runs" in tables_of(postgres_url)


def test_what_is_no_backup_is_refused(store_url: str, tmp_path: Path) -> None:
    for name, content in (("text.db", b"no database at all, but long enough to be one" * 50), ("empty.db", b"")):
        strange = tmp_path / name
        strange.write_bytes(content)
        with pytest.raises(Refusal) as caught:
            restore(strange, store_url)
        assert caught.value.code in (Code.INVALID_PARAMS, Code.STORAGE_UNAVAILABLE)
    with pytest.raises(Refusal) as caught:
        restore(tmp_path / "missing.db", store_url)
    assert caught.value.code == Code.NOT_FOUND


def test_a_backup_of_no_database_is_refused_and_makes_none(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "carrel.db"
    with pytest.raises(Refusal) as caught:
        back_up(f"sqlite:///{missing}", tmp_path / "backup.db")
    assert caught.value.code == Code.NOT_FOUND
    assert not missing.parent.exists()


@contextmanager
def no_file_larger_than(size_bytes: int) -> Iterator[None]:
    """Let every write beyond that size fail, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_on_a_full_disk_nobody_is_told_that_something_was_kept(sqlite_url: str) -> None:
    path = sqlite_path(sqlite_url)
    assert path is not None
    async with open_engine(sqlite_url) as engine:
        await engine.say(MAIN, "before")
        size = path.with_name("carrel.db-wal").stat().st_size
        with no_file_larger_than(size + 50_000):
            results = await asyncio.gather(
                *(engine.say(lane_key(f"l{n}"), "x" * 20_000) for n in range(10)), return_exceptions=True
            )
            refused = [result for result in results if isinstance(result, Refusal)]
            assert len(refused) == 10
            assert {refusal.code for refusal in refused} == {Code.STORAGE_UNAVAILABLE}
            assert (await engine.db.read(lambda tx: tx.one("SELECT count(*) FROM runs"))) == (1,)
        after = await engine.say(MAIN, "after")
        assert [run.text for run in await engine.live(MAIN)] == ["before", "after"]
        assert (await engine.run(after.id)).state == "queued"
    assert run_script(sqlite_url, "PRAGMA integrity_check") == [("ok",)]


@requirement("S1.store.wal")
async def test_the_embedded_store_is_one_file_in_wal_mode(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        mode = await engine.db.read(lambda tx: tx.one("PRAGMA journal_mode"))
        assert mode == ("wal",)
        path = sqlite_path(sqlite_url)
        assert path is not None
        assert {file.name for file in path.parent.iterdir()} <= {"carrel.db", "carrel.db-wal", "carrel.db-shm"}


async def test_foreign_keys_hold_on_every_connection(sqlite_url: str) -> None:
    def orphan(tx: Tx) -> None:
        tx.run("INSERT INTO feed_marks (account_id, pruned_seq) VALUES ('acc_nobody', 1)")

    async with opened(sqlite_url) as db:
        with pytest.raises(apsw.ConstraintError):
            await db.write(orphan)


def test_of_messages_that_were_stored_twice_the_first_keeps_its_name(store_url: str) -> None:
    make_store_before(store_url, 31)
    twice = [(name, "m-1", "discord", "'{}'") for name in ("a", "b", "c")]
    others = [("d", "m-1", "slack", "'{}'"), ("e", "m-1", "discord", "NULL"), ("f", "m-2", "discord", "'{}'")]
    for seq, (name, message, channel, source) in enumerate([*twice, *others]):
        run_script(
            store_url,
            f"""
            INSERT INTO entries (account_id, id, seq, type, role, content, author, author_kind, provenance,
                message_id, channel, source, attachment_ids, created_at)
                VALUES ('acc_1', '{name}', {seq}, 'conversation', 'user', 'x', 'user', 'user', '{{}}',
                '{message}', '{channel}', {source}, '[]', 50)
        """,
        )
    assert "0031_messages_once" in migrate(store_url)
    named = run_script(store_url, "SELECT id FROM entries WHERE message_id IS NOT NULL ORDER BY id")
    assert [name for (name,) in named] == ["a", "d", "e", "f"]
    with pytest.raises((apsw.ConstraintError, psycopg.errors.UniqueViolation)):
        run_script(store_url, "UPDATE entries SET message_id = 'm-1' WHERE id = 'b'")


def test_what_was_indexed_before_words_had_accounts_is_found_changed_and_removed(store_url: str) -> None:
    make_store_before(store_url, 32)
    no_bytes = "''" if sqlite_path(store_url) is None else "x''"
    made = (
        "INSERT INTO search_documents (account_id, kind, id, number, version, at, reach, places, speaker, sequence, "
        "length, is_question, model, codes, label, terms, vectors) VALUES ('acc_1', 'log', '{0}', {1}, {1}, 0, 'v_a', "
        f"'', '', 0, 1, 0, '', {no_bytes}, '', 'v_a {{2}}', {no_bytes})"
    )
    run_script(store_url, made.format("old", 7, "pump"))
    run_script(store_url, made.format("note", 6, "gasket").replace("'log'", "'note'"))

    def having(*terms: str) -> list[object]:
        match = " AND ".join(f'"acc_1{term}"' for term in terms)
        return [number for (number,) in run_script(store_url, f"SELECT rowid FROM search_words('{match}') ORDER BY 1")]

    assert "0032_words_of_accounts" in migrate(store_url)
    assert having("v_a", "pump") == [7]
    assert having("k_kept") == [6], "a note, and no entry"
    run_script(store_url, made.format("new", 8, "valve"))
    run_script(store_url, "UPDATE search_documents SET terms = 'v_a valve' WHERE id = 'old'")
    assert (having("pump"), having("v_a", "valve")) == ([], [7, 8])
    run_script(store_url, "DELETE FROM search_documents WHERE id = 'old'")
    assert having("valve") == [8]

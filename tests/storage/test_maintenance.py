"""Migrations, backups, restores, and a disk that is full."""

import asyncio

import apsw
import psycopg
import pytest

from carrel.storage import NewerSchema, migrate, migrations, open_database, sqlite_path
from carrel.storage.dialect import schema_for_sqlite, script_for


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


def test_migrations_are_applied_once_each_in_their_order(empty_url: str) -> None:
    known = [migration.name for migration in migrations()]
    assert migrate(empty_url) == known
    assert migrate(empty_url) == []
    numbers = [migration.number for migration in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(empty_url: str) -> None:
    migrate(empty_url)
    newer = "PRAGMA user_version = 999" if sqlite_path(empty_url) else "INSERT INTO schema_version VALUES (999)"
    run_script(empty_url, newer)
    with pytest.raises(NewerSchema):
        migrate(empty_url)
    with pytest.raises(NewerSchema):
        open_database(empty_url)


def test_a_migration_that_fails_half_way_leaves_nothing(empty_url: str) -> None:
    run_script(empty_url, "CREATE TABLE events (mine TEXT)")
    with pytest.raises((apsw.Error, psycopg.Error)):
        migrate(empty_url)
    assert tables_of(empty_url) == {"events"}
    run_script(empty_url, "DROP TABLE events")
    assert migrate(empty_url)


async def test_several_servers_that_start_at_once_migrate_once(empty_postgres_url: str) -> None:
    applied = await asyncio.gather(*(asyncio.to_thread(migrate, empty_postgres_url) for _ in range(4)))
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


def test_references_are_added_to_a_store_that_has_rows(empty_sqlite_url: str) -> None:
    make_store_before(url := empty_sqlite_url, 14)
    assert "0014_references" in migrate(url)
    assert run_script(url, "SELECT text FROM runs") == [("kept",)]
    with pytest.raises(apsw.ConstraintError):
        run_script(url, "PRAGMA foreign_keys=ON; UPDATE runs SET agent_id = 'nobody'")
    assert run_script(url, "PRAGMA integrity_check") == [("ok",)]


def test_a_row_that_refers_to_nothing_stops_the_migration_and_nothing_is_changed(empty_sqlite_url: str) -> None:
    make_store_before(url := empty_sqlite_url, 14)
    run_script(url, "UPDATE runs SET agent_id = 'nobody'")
    with pytest.raises(apsw.ConstraintError, match="a row of runs refers to a row of agents"):
        migrate(url)
    assert run_script(url, "PRAGMA user_version") == [(max(m.number for m in migrations() if m.number < 14),)]


def test_tasks_that_were_only_named_get_rows_and_their_threads_what_was_said(empty_url: str) -> None:
    make_store_before(empty_url, 15)
    run_script(
        empty_url,
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
            empty_url,
            f"""
            INSERT INTO entries (account_id, id, seq, type, role, content, author, author_kind, provenance, key,
                session_id, agent_id, channel, task_id, attachment_ids, created_at)
                VALUES ('acc_1', '{name}', {seq}, '{kind}', '{role}', 'x', 'user', 'user', '{source}',
                'agent:main:main', 'ses_1', 'main', 'api', {task_id}, '[]', 50)
        """,
        )
    assert "0015_tasks" in migrate(empty_url)
    tasks = run_script(empty_url, "SELECT id, status, created_by, created_at FROM tasks ORDER BY id")
    assert tasks == [
        ("task_1", "inbox", "import", 20), ("task_2", "inbox", "import", 40), ("task_3", "inbox", "import", 50),
    ]  # fmt: skip
    shown = run_script(empty_url, "SELECT id FROM entries WHERE task_view = 'thread' ORDER BY id")
    assert shown == [("ent_1",), ("ent_2",)], "what a person said and what was answered"
    lite = "PRAGMA foreign_keys=ON; " if sqlite_path(empty_url) else ""
    for table in ("runs", "sessions", "entries"):
        with pytest.raises((apsw.ConstraintError, psycopg.errors.ForeignKeyViolation)):
            run_script(empty_url, f"{lite}UPDATE {table} SET task_id = 'nothing'")


def test_the_facts_that_a_run_was_shown_become_its_block(empty_url: str) -> None:
    make_store_before(empty_url, 27)
    for position, line in enumerate(("- [session] one", "- [global] two")):
        run_script(
            empty_url,
            f"""
            INSERT INTO context_items (account_id, run_id, position, id, kind, section, scope, source, score, reason,
                line) VALUES ('acc_1', 'run_1', {position}, 'mem_{position}', 'memory', 'Kept facts:', 'global', 'x',
                0.5, 'why', '{line}')
        """,
        )
    assert "0027_contexts" in migrate(empty_url)
    kept = run_script(empty_url, "SELECT run_id, agent_id, mode, block, layers, omitted, degraded FROM contexts")
    block = "Kept facts:\n- [session] one\n- [global] two"
    assert kept == [("run_1", "main", "auto", block, '["A:memory"]', "{}", None)]
    lines = run_script(empty_url, "SELECT id, score, line FROM context_lines ORDER BY position")
    assert lines == [("mem_0", 0.5, "- [session] one"), ("mem_1", 0.5, "- [global] two")]


def test_of_messages_that_were_stored_twice_the_first_keeps_its_name(empty_url: str) -> None:
    make_store_before(empty_url, 31)
    twice = [(name, "m-1", "discord", "'{}'") for name in ("a", "b", "c")]
    others = [("d", "m-1", "slack", "'{}'"), ("e", "m-1", "discord", "NULL"), ("f", "m-2", "discord", "'{}'")]
    for seq, (name, message, channel, source) in enumerate([*twice, *others]):
        run_script(
            empty_url,
            f"""
            INSERT INTO entries (account_id, id, seq, type, role, content, author, author_kind, provenance,
                message_id, channel, source, attachment_ids, created_at)
                VALUES ('acc_1', '{name}', {seq}, 'conversation', 'user', 'x', 'user', 'user', '{{}}',
                '{message}', '{channel}', {source}, '[]', 50)
        """,
        )
    assert "0031_messages_once" in migrate(empty_url)
    named = run_script(empty_url, "SELECT id FROM entries WHERE message_id IS NOT NULL ORDER BY id")
    assert [name for (name,) in named] == ["a", "d", "e", "f"]
    with pytest.raises((apsw.ConstraintError, psycopg.errors.UniqueViolation)):
        run_script(empty_url, "UPDATE entries SET message_id = 'm-1' WHERE id = 'b'")


def test_what_was_indexed_before_words_had_accounts_is_found_changed_and_removed(empty_url: str) -> None:
    make_store_before(empty_url, 32)
    no_bytes = "''" if sqlite_path(empty_url) is None else "x''"
    made = (
        "INSERT INTO search_documents (account_id, kind, id, number, version, at, reach, places, speaker, sequence, "
        "length, is_question, model, codes, label, terms, vectors) VALUES ('acc_1', 'log', '{0}', {1}, {1}, 0, 'v_a', "
        f"'', '', 0, 1, 0, '', {no_bytes}, '', 'v_a {{2}}', {no_bytes})"
    )
    run_script(empty_url, made.format("old", 7, "pump"))
    run_script(empty_url, made.format("note", 6, "gasket").replace("'log'", "'note'"))

    def having(*terms: str) -> list[object]:
        match = " AND ".join(f'"acc_1{term}"' for term in terms)
        return [number for (number,) in run_script(empty_url, f"SELECT rowid FROM search_words('{match}') ORDER BY 1")]

    assert "0032_words_of_accounts" in migrate(empty_url)
    assert having("v_a", "pump") == [7]
    assert having("k_kept") == [6], "a note, and no entry"
    run_script(empty_url, made.format("new", 8, "valve"))
    run_script(empty_url, "UPDATE search_documents SET terms = 'v_a valve' WHERE id = 'old'")
    assert (having("pump"), having("v_a", "valve")) == ([], [7, 8])
    run_script(empty_url, "DELETE FROM search_documents WHERE id = 'old'")
    assert having("valve") == [8]

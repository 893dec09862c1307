"""Backups: taken while others write, restored into either engine, and never in place of anything."""

import asyncio
from pathlib import Path

import pytest

from carrel.kernel import Code, Refusal, system_access
from carrel.runs import run_by_id
from carrel.storage import back_up, restore
from tests.harness.engine import MAIN, accounts_of, lane_key, open_engine, opened
from tests.requirements.mark import requirement
from tests.storage.test_maintenance import run_script, tables_of


@requirement("S1.store.backup")
async def test_a_backup_taken_while_others_write_opens_as_a_consistent_database(empty_url: str, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    async with open_engine(empty_url) as engine:
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


async def test_a_backup_can_be_restored_into_either_engine(
    empty_url: str, tmp_path: Path, empty_postgres_url: str
) -> None:
    backup, file = tmp_path / "backup.db", f"sqlite:///{tmp_path / 'restored' / 'carrel.db'}"
    async with open_engine(empty_url) as engine:
        kept = await engine.say(MAIN, "keep me")
        await engine.another_account("acme")
        last = await engine.db.write(lambda tx: tx.tick())
    await asyncio.to_thread(back_up, empty_url, backup)
    for target in (file, empty_postgres_url) if empty_url != empty_postgres_url else (file,):
        await asyncio.to_thread(restore, backup, target)
        async with opened(target) as restored:
            assert await accounts_of(restored) == ["default", "acme"]
            run = await restored.read(lambda tx: run_by_id(tx, system_access(kept.account_id), kept.id))
            assert run is not None
            assert (run.text, run.state, run.seq) == ("keep me", "queued", kept.seq)
            assert await restored.write(lambda tx: tx.tick()) > last - 1


async def test_a_backup_never_replaces_a_file_and_a_restore_never_fills_a_store_in_use(
    empty_url: str, tmp_path: Path
) -> None:
    async with open_engine(empty_url) as engine:
        await engine.say(MAIN, "hello")
    backup = tmp_path / "backup.db"
    back_up(empty_url, backup)
    with pytest.raises(Refusal) as again:
        back_up(empty_url, backup)
    with pytest.raises(Refusal) as filled:
        restore(backup, empty_url)
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
    change: str, tmp_path: Path, empty_postgres_url: str
) -> None:
    backup = tmp_path / "backup.db"
    async with open_engine(f"sqlite:///{tmp_path / 'carrel.db'}") as engine:
        await asyncio.to_thread(engine.db.backup, backup)
    run_script(f"sqlite:///{backup}", change)
    with pytest.raises(Refusal, match="other tables or columns") as caught:
        await asyncio.to_thread(restore, backup, empty_postgres_url)
    assert caught.value.code == Code.INVALID_PARAMS
    assert run_script(empty_postgres_url, "SELECT count(*) FROM accounts") == [(0,)]
    assert "runs" in tables_of(empty_postgres_url)


def test_what_is_no_backup_is_refused(empty_url: str, tmp_path: Path) -> None:
    for name, content in (("text.db", b"no database at all, but long enough to be one" * 50), ("empty.db", b"")):
        strange = tmp_path / name
        strange.write_bytes(content)
        with pytest.raises(Refusal) as caught:
            restore(strange, empty_url)
        assert caught.value.code in (Code.INVALID_PARAMS, Code.STORAGE_UNAVAILABLE)
    with pytest.raises(Refusal) as caught:
        restore(tmp_path / "missing.db", empty_url)
    assert caught.value.code == Code.NOT_FOUND


def test_a_backup_of_no_database_is_refused_and_makes_none(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "carrel.db"
    with pytest.raises(Refusal) as caught:
        back_up(f"sqlite:///{missing}", tmp_path / "backup.db")
    assert caught.value.code == Code.NOT_FOUND
    assert not missing.parent.exists()

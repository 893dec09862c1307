"""Nobody but its owner can read what the store writes, from the first byte on and however the file came to be."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrel.storage import back_up, migrate, restore
from carrel.storage.sqlite_file import open_file
from tests.harness.engine import MAIN, open_engine


@pytest.fixture(autouse=True)
def careless_umask() -> Iterator[None]:
    """A umask that takes nothing away: what is private must be so by itself."""
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(folder: Path) -> list[str]:
    """The files below a folder that somebody else may read or write."""
    return [path.name for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o077]


def open_to_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o644)


async def test_a_store_in_use_is_private_with_the_files_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with open_engine(f"sqlite:///{folder / 'carrel.db'}") as engine:
        await engine.say(MAIN, "hello")
        assert {path.name for path in folder.iterdir()} == {"carrel.db", "carrel.db-wal", "carrel.db-shm"}
        assert readable_by_others(folder) == []
        assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_store_that_others_could_read_becomes_private_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "carrel.db"
    migrate(f"sqlite:///{path}")
    held = open_file(path, "full")
    held.execute("UPDATE ticks SET value = value")
    open_to_all(tmp_path)
    assert len(readable_by_others(tmp_path)) == 3
    async with open_engine(f"sqlite:///{path}"):
        assert readable_by_others(tmp_path) == []
    held.close()


async def test_backups_and_restored_stores_are_private(store_url: str, tmp_path: Path) -> None:
    async with open_engine(store_url) as engine:
        await engine.say(MAIN, "hello")
        await asyncio.to_thread(engine.db.backup, tmp_path / "by-server.db")
    await asyncio.to_thread(back_up, store_url, tmp_path / "backup.db")
    await asyncio.to_thread(restore, tmp_path / "backup.db", f"sqlite:///{tmp_path / 'new' / 'carrel.db'}")
    assert readable_by_others(tmp_path) == []

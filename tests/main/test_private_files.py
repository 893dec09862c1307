"""What a server writes into its data directory is readable by its owner only."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.process import Start


@pytest.fixture(autouse=True)
def careless_umask() -> Iterator[None]:
    """A umask that takes nothing away, which server processes inherit."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_nothing_in_the_data_directory_can_be_read_by_others(start: Start) -> None:
    folder = start().folder
    assert {"carrel.db", "owner_token", "server.json"} <= {path.name for path in folder.iterdir()}
    assert open_to_others(folder) == []


def test_what_others_could_read_is_private_after_the_next_start(start: Start) -> None:
    first = start()
    folder = first.folder
    first.kill()
    for path in folder.iterdir():
        path.chmod(0o644)
    start()
    assert open_to_others(folder) == ["carrel.db.lock"], "a lock is empty"


def open_to_others(folder: Path) -> list[str]:
    """The names of such files, without the one that the test's harness writes."""
    found = [path.name for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o077]
    return [name for name in found if name != "stderr.txt"]

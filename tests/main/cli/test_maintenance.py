"""Backup, restore and migrate on a real store, without a server."""

import json
import os
from pathlib import Path

import pytest

from carrel.storage import migrations
from tests.main.cli.conftest import Carrel


@pytest.fixture
def data_dir(tmp_path: Path) -> str:
    return str(tmp_path / "data_dir")


def test_migrating_makes_the_store_and_a_second_time_does_nothing(carrel: Carrel, data_dir: str) -> None:
    first = carrel("migrate", "--data-dir", data_dir)
    assert first.code == 0
    assert first.out.splitlines()[0].startswith("0001")
    assert carrel("migrate", "--data-dir", data_dir) == (0, "", "The store is up to date.\n")
    assert Path(data_dir, "carrel.db").is_file()


def test_a_backup_fills_an_empty_store(carrel: Carrel, data_dir: str, tmp_path: Path) -> None:
    assert carrel("migrate", "--data-dir", data_dir).code == 0
    copy = tmp_path / "copy.db"
    assert carrel("backup", str(copy), "--data-dir", data_dir).code == 0
    again = carrel("backup", str(copy), "--data-dir", data_dir)
    assert again.code == 1
    assert "already exists" in again.err
    fresh = str(tmp_path / "fresh")
    assert carrel("restore", str(copy), "--data-dir", fresh).code == 0
    assert Path(fresh, "carrel.db").is_file()
    assert carrel("restore", str(copy), "--data-dir", fresh).code == 1


def test_what_is_no_backup_is_refused_in_a_sentence(carrel: Carrel, data_dir: str, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader", encoding="utf-8")
    for source in (tmp_path / "letter.txt", tmp_path / "nothing.db"):
        ended = carrel("restore", str(source), "--data-dir", data_dir)
        assert ended.code == 1
        assert len(ended.err.splitlines()) == 1


def test_a_backup_of_nothing_says_so(carrel: Carrel, data_dir: str, tmp_path: Path) -> None:
    ended = carrel("backup", str(tmp_path / "copy.db"), "--data-dir", data_dir)
    assert ended.code == 1
    assert "There is no database" in ended.err


def test_a_damaged_store_is_reported_in_one_sentence(carrel: Carrel, data_dir: str) -> None:
    Path(data_dir).mkdir()
    Path(data_dir, "carrel.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    ended = carrel("migrate", "--data-dir", data_dir)
    assert ended.code == 1
    assert ended.err.startswith("The store cannot be used: ")


def test_nothing_is_restored_under_a_running_server(carrel: Carrel, tmp_path: Path) -> None:
    left = {"url": "http://127.0.0.1:1", "pid": os.getpid()}
    (tmp_path / "server.json").write_text(json.dumps(left), encoding="utf-8")
    ended = carrel("restore", str(tmp_path / "x.db"), "--data-dir", str(tmp_path))
    assert ended.code == 1
    assert "stop it first" in ended.err


def test_doctor_knows_the_schema_of_the_store(carrel: Carrel, data_dir: str) -> None:
    assert carrel("migrate", "--data-dir", data_dir).code == 0
    findings = json.loads(carrel("doctor", "--data-dir", data_dir, "--json").out)["findings"]
    (store,) = [finding for finding in findings if finding["what"] == "store"]
    assert store["state"] == "ok"
    assert f"schema {migrations()[-1].number}" in store["found"]

"""Which settings file applies, and what a data directory's own file may say."""

from pathlib import Path

import pytest

from carrel.main.settings import SettingsFault, load
from carrel.main.settings_file import unread_file


@pytest.fixture(autouse=True)
def in_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a data directory, and a working directory beside it."""
    (tmp_path / "home" / ".carrel").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_settings_of_the_data_directory_apply_in_every_working_directory(in_another_directory: Path) -> None:
    path = write(in_another_directory / "home" / ".carrel" / "carrel.toml", "server.port = 1")
    loaded = load(None, {}, {})
    assert (loaded.settings.server.port, loaded.file.path) == (1, path)


@pytest.mark.parametrize("by", ["the environment", "the command line"])
def test_a_data_directory_that_is_named_brings_its_own_settings(by: str, in_another_directory: Path) -> None:
    write(in_another_directory / "home" / ".carrel" / "carrel.toml", "server.port = 1")
    write(in_another_directory / "other" / "carrel.toml", "server.port = 2")
    named = str(in_another_directory / "other")
    env = {"CARREL_STORAGE__DATA_DIR": named} if by == "the environment" else {}
    loaded = load(None, env, {} if env else {"storage.data_dir": "../other"})
    assert (loaded.settings.server.port, str(loaded.settings.storage.data_dir.resolve())) == (2, named)


def test_a_file_in_the_working_directory_wins_and_one_that_is_named_wins_over_both(in_another_directory: Path) -> None:
    beside = write(in_another_directory / "home" / ".carrel" / "carrel.toml", "server.port = 1")
    write(Path("carrel.toml"), "runs.attempts_max = 2")
    named = write(in_another_directory / "named.toml", "server.port = 3")
    here, by_option = load(None, {}, {}), load(named, {}, {})
    assert (here.settings.server.port, here.settings.runs.attempts_max) == (8787, 2), "one file applies, not two"
    assert (here.file.origin, by_option.file.origin) == ("working directory", "option")
    assert by_option.settings.server.port == 3
    assert unread_file(here.file, here.settings.storage.data_dir) == beside


def test_in_the_data_directory_itself_its_file_is_that_of_the_data_directory(
    in_another_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(in_another_directory / "home" / ".carrel" / "carrel.toml", "server.port = 1")
    monkeypatch.chdir(in_another_directory / "home" / ".carrel")
    loaded = load(None, {}, {})
    assert (loaded.file.origin, loaded.settings.server.port) == ("data directory", 1)
    assert unread_file(loaded.file, loaded.settings.storage.data_dir) is None


@pytest.mark.parametrize("again", [False, True], ids=["alone", "and the environment names the directory"])
def test_a_data_directory_whose_settings_name_another_one_is_refused(again: bool, in_another_directory: Path) -> None:
    folder = in_another_directory / "home" / ".carrel"
    write(folder / "carrel.toml", "storage.data_dir = '../elsewhere'")
    with pytest.raises(SettingsFault) as caught:
        load(None, {"CARREL_STORAGE__DATA_DIR": str(folder)} if again else {}, {})
    (problem,) = caught.value.problems
    assert f"but this file is that of the data directory {folder}" in problem
    assert "set CARREL_STORAGE__DATA_DIR=" in problem


def test_a_data_directory_may_name_itself(in_another_directory: Path) -> None:
    write(in_another_directory / "home" / ".carrel" / "carrel.toml", "storage.data_dir = '~/.carrel'")
    assert load(None, {}, {}).settings.storage.data_dir == in_another_directory / "home" / ".carrel"


def test_relative_paths_in_a_file_begin_at_the_file(in_another_directory: Path) -> None:
    text = "storage.url = 'sqlite:///a.db'\nstorage.data_dir = 'd'\n[gateway.default]\napi_key_file = 'key'"
    settings = load(write(in_another_directory / "place" / "any.toml", text), {}, {}).settings
    place = in_another_directory / "place"
    assert settings.storage.url == f"sqlite:///{place}/a.db"
    assert (settings.storage.data_dir, settings.gateway["default"].api_key_file) == (place / "d", str(place / "key"))

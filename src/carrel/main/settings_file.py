"""Which settings file applies: the one that is named, the working directory's, or the data directory's.

A server that is started from another directory has the same data, and so it has to have the same settings.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from carrel.kernel.settings import StorageSettings

FILE_NAME = "carrel.toml"
DATA_DIR_VARIABLE = "CARREL_STORAGE__DATA_DIR"


class SettingsFile(Struct, frozen=True, kw_only=True):
    """A settings file, which need not exist if it is the data directory's, and why it is the one that applies."""

    path: Path
    origin: Literal["option", "working directory", "data directory"]

    @property
    def folder(self) -> Path:
        """The directory of the file, where its relative paths begin."""
        return self.path.expanduser().absolute().parent


def settings_file(config: Path | None, env: Mapping[str, str], data_dir: object = None) -> SettingsFile:
    """Return the file that applies; `data_dir` is the directory that the command line names, if it does."""
    if config is not None:
        return SettingsFile(path=config, origin="option")
    usual = env.get(DATA_DIR_VARIABLE) or StorageSettings().data_dir
    beside = Path(str(data_dir or usual)).expanduser().absolute() / FILE_NAME
    here = Path(FILE_NAME)
    if here.exists() and not is_same(here, beside):
        return SettingsFile(path=here, origin="working directory")
    return SettingsFile(path=beside, origin="data directory")


def unread_file(applies: SettingsFile, data_dir: Path) -> Path | None:
    """Return the data directory's file if it exists but another one applies."""
    beside = data_dir / FILE_NAME
    return beside if beside.exists() and not is_same(beside, applies.path) else None


def is_same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which may not exist yet."""
    return one.expanduser().resolve() == other.expanduser().resolve()

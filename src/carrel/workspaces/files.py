"""Placing files in a workspace and removing them. Blocking; to be called in a thread.

Whoever works in the workspace may put symbolic links anywhere below its root. So every name on the way is opened from
the folder before it, without following links, and everything is done relative to what was opened.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from carrel.workspaces.model import MANIFEST, NewFile, Placed, Workspace, receipt_of

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_MS_PER_SECOND = 1_000


class CannotPlace(Exception):
    """The files could not be placed; nothing of them is left."""


def place_files(workspace: Workspace, folder: str, files: tuple[NewFile, ...]) -> Placed:
    """Write files and their manifest into a new folder, readable by nobody else, and safe on the disk."""
    try:
        receipt = receipt_of(workspace, folder, files)
        manifest = NewFile(MANIFEST, msgspec.json.format(msgspec.json.encode(receipt), indent=2))
        workspace.root.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        with _attachments(workspace, make=True) as parent:
            os.mkdir(folder, _FOLDER_MODE, dir_fd=parent)
            try:
                with _opened(folder, parent) as inside:
                    for file in (*files, manifest):
                        _write(file, inside)
                    os.fsync(inside)
                os.fsync(parent)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True, dir_fd=parent)
                raise
    except (OSError, ValueError) as error:
        raise CannotPlace(str(error)) from error
    return Placed(
        root=str(workspace.root), attachments=workspace.attachments, folder=folder, receipt=receipt
    )  # fmt: skip


def remove_folder(workspace: Workspace, folder: str) -> bool:
    """Remove one folder of attachments; False when there was none. What links in it lead to stays untouched."""
    try:
        with _attachments(workspace, make=False) as parent:
            try:
                shutil.rmtree(folder, dir_fd=parent)
            except NotADirectoryError:
                os.unlink(folder, dir_fd=parent)
            except OSError:
                # A link in the folder's place is taken away itself; anything else is what went wrong.
                if not _is_link(folder, parent):
                    raise
                os.unlink(folder, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def held_folders(workspace: Workspace) -> list[tuple[str, int]]:
    """The folders of attachments that lie in a workspace, each with the moment it was last changed."""
    try:
        with _attachments(workspace, make=False) as parent, os.scandir(parent) as found:
            return [
                (entry.name, int(entry.stat(follow_symlinks=False).st_mtime * _MS_PER_SECOND)) for entry in found
            ]  # fmt: skip
    except (OSError, ValueError):
        # None was ever made, or a link lies on the way: either way there is nothing of ours that could be reached.
        return []


@contextlib.contextmanager
def _attachments(workspace: Workspace, *, make: bool) -> Iterator[int]:
    """The folder in which folders of attachments lie, opened; every name on the way is a folder and no link."""
    with contextlib.ExitStack() as opened:
        at = opened.enter_context(_opened(str(Path(workspace.root).resolve()), None))
        for name in workspace.steps:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, _FOLDER_MODE, dir_fd=at)
            at = opened.enter_context(_opened(name, at))
        yield at


@contextlib.contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    number = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield number
    finally:
        os.close(number)


def _write(file: NewFile, parent: int) -> None:
    number = os.open(file.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _FILE_MODE, dir_fd=parent)
    with os.fdopen(number, "wb") as opened:
        opened.write(file.content)
        opened.flush()
        os.fsync(number)


def _is_link(name: str, parent: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)

"""Placing files in a workspace and removing them. Blocking; call it in a thread.

An agent may have put symbolic links anywhere in its workspace, or replaced it with one. So every folder below the base
folder is opened from its parent without following links, and all work is relative to opened folders.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator

import msgspec

from carrel.kernel import MS_PER_SECOND
from carrel.kernel.limits import ATTACHMENT_BYTES_MAX
from carrel.workspaces.model import MANIFEST, NewFile, PlacedFiles, Workspace, receipt_of

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


class CannotPlace(Exception):
    """The files could not be placed; none is left behind."""


def place_files(workspace: Workspace, folder: str, files: tuple[NewFile, ...]) -> PlacedFiles:
    """Write files and their manifest into a new private folder and sync them to disk."""
    try:
        receipt = receipt_of(workspace, folder, files)
        manifest = NewFile(MANIFEST, msgspec.json.format(msgspec.json.encode(receipt), indent=2))
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
    return PlacedFiles(
        base=str(workspace.base), root=str(workspace.root), attachments=workspace.attachments, folder=folder,
        receipt=receipt,
    )  # fmt: skip


def read_placed(placed: PlacedFiles, name: str) -> bytes | None:
    """Return the content of one placed file; None if it is gone, has grown too large, or was replaced by a link."""
    if all(file.name != name for file in placed.receipt.files):
        return None
    try:
        with _attachments(placed.workspace, make=False) as parent, _opened(placed.folder, parent) as inside:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inside)
            with os.fdopen(descriptor, "rb") as opened:
                is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
                content = opened.read(ATTACHMENT_BYTES_MAX + 1) if is_file else None
    except (OSError, ValueError):
        return None
    return content if content is not None and len(content) <= ATTACHMENT_BYTES_MAX else None


def remove_folder(workspace: Workspace, folder: str) -> None:
    """Remove one folder of attachments, if it exists, but not what links in it point to."""
    with contextlib.suppress(FileNotFoundError), _attachments(workspace, make=False) as parent:
        while mode := os.stat(folder, dir_fd=parent, follow_symlinks=False).st_mode:
            remove = shutil.rmtree if stat.S_ISDIR(mode) else os.unlink
            # Another server may be removing the same folder; a file that one misses is found by the other.
            with contextlib.suppress(FileNotFoundError):
                remove(folder, dir_fd=parent)


def held_folders(workspace: Workspace) -> list[tuple[str, int]]:
    """Return the attachment folders in a workspace, each with the time it was last changed."""
    try:
        with _attachments(workspace, make=False) as parent, os.scandir(parent) as found:
            return [(entry.name, int(entry.stat(follow_symlinks=False).st_mtime * MS_PER_SECOND)) for entry in found]
    except (OSError, ValueError):
        # Either none was ever created or a link is in the way: nothing of ours can be reached.
        return []


def _attachments(workspace: Workspace, *, make: bool) -> contextlib.AbstractContextManager[int]:
    return opened_folder(workspace, workspace.path_parts, make=make)


@contextlib.contextmanager
def opened_folder(workspace: Workspace, parts: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """Open the folder at a path below the base, making sure that no part of the path is a link."""
    with contextlib.ExitStack() as opened:
        if make:
            workspace.base.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        at = opened.enter_context(_opened(str(workspace.base.resolve()), None))
        for name in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, _FOLDER_MODE, dir_fd=at)
            at = opened.enter_context(_opened(name, at))
        yield at


@contextlib.contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(file: NewFile, parent: int) -> None:
    descriptor = os.open(file.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _FILE_MODE, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.content)
        opened.flush()
        os.fsync(descriptor)

"""Text files that a program reads and writes in a workspace through us. Blocking; call it in a thread.

The program uses absolute paths. As everywhere in this room, symbolic links are not followed, so a path never leads out
of the workspace.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath

from carrel.workspaces.files import opened_folder
from carrel.workspaces.model import Workspace

_FILE_MODE = 0o600


class NotInWorkspace(Exception):
    """A path that is no text file of the workspace; the message says why."""


def make_workspace(workspace: Workspace) -> str:
    """Create the folder of a workspace if needed and return its path; raise OSError or ValueError."""
    with opened_folder(workspace, workspace.root_parts, make=True):
        return str(workspace.base.resolve().joinpath(*workspace.root_parts))


def read_text(workspace: Workspace, path: str, bytes_max: int) -> str:
    """Return a text file; raise NotInWorkspace."""
    with _refusing(path), _parent_of(workspace, path, make=False) as (parent, name):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
        with os.fdopen(descriptor, "rb") as opened:
            _require_file(descriptor)
            content = opened.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise NotInWorkspace(f"{path} has more than {bytes_max} bytes.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise NotInWorkspace(f"{path} is not UTF-8 text.") from error


def write_text(workspace: Workspace, path: str, text: str, bytes_max: int) -> None:
    """Write or replace a text file and create its folders; raise NotInWorkspace."""
    content = text.encode("utf-8", "replace")
    if len(content) > bytes_max:
        raise NotInWorkspace(f"{path} would have more than {bytes_max} bytes.")
    with _refusing(path), _parent_of(workspace, path, make=True) as (parent, name):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(name, flags, _FILE_MODE, dir_fd=parent)
        with os.fdopen(descriptor, "wb") as opened:
            # Truncate only after checking that it is a regular file.
            _require_file(descriptor)
            opened.truncate(0)
            opened.write(content)


def _require_file(descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise ValueError("it is not a file")


@contextmanager
def _parent_of(workspace: Workspace, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """Open the folder of a path, and yield it with the file's name."""
    parts = _parts_inside(workspace, path)
    with opened_folder(workspace, (*workspace.root_parts, *parts[:-1]), make=make) as parent:
        yield parent, parts[-1]


def _parts_inside(workspace: Workspace, path: str) -> tuple[str, ...]:
    given = PurePath(path)
    # A program may use the path that it was given, or the one it found behind links above the workspaces.
    for root in (workspace.base.resolve().joinpath(*workspace.root_parts), workspace.root):
        with suppress(ValueError):
            parts = given.relative_to(root).parts
            if parts and ".." not in parts and "\0" not in path:
                return parts
    raise ValueError("it is outside the workspace")


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise NotInWorkspace(f"{path} cannot be used: {why}.") from error

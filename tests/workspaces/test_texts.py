"""Text files of a workspace, named by whole paths: nothing outside it is ever opened."""

import os
from pathlib import Path

import pytest

from carrel.workspaces import NotInWorkspace, Workspace, make_workspace, read_text, write_text
from tests.requirements.mark import requirement

BYTES_MAX = 100


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace that was made."""
    made = Workspace(base=tmp_path / "all", root=tmp_path / "all" / "acc" / "main", attachments="files")
    assert make_workspace(made) == str(made.root)
    return made


@requirement("P.acp.files")
def test_a_text_is_written_in_place_of_another_and_folders_are_made(workspace: Workspace) -> None:
    path = str(workspace.root / "a" / "b.txt")
    write_text(workspace, path, "a long text", BYTES_MAX)
    write_text(workspace, path, "ä", BYTES_MAX)
    assert read_text(workspace, path, BYTES_MAX) == "ä"
    assert (workspace.root / "a" / "b.txt").stat().st_mode & 0o077 == 0


@requirement("P.acp.files")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{root}/../other/x.txt", "it is outside the workspace"),
        ("{root}", "it is outside the workspace"),
        ("x.txt", "it is outside the workspace"),
        ("/etc/passwd", "it is outside the workspace"),
        ("{root}/\0", "it is outside the workspace"),
        ("{root}/link/x.txt", "Not a directory"),
        ("{root}/link.txt", "Too many levels of symbolic links"),
        ("{root}/pipe", "cannot be used"),
        ("{root}/folder", "cannot be used"),
    ],
)
def test_no_path_leads_out_of_the_workspace(workspace: Workspace, tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "x.txt").write_text("secret")
    (workspace.root / "link").symlink_to(tmp_path)
    (workspace.root / "link.txt").symlink_to(tmp_path / "x.txt")
    (workspace.root / "folder").mkdir()
    os.mkfifo(workspace.root / "pipe")
    named = path.format(root=workspace.root)
    with pytest.raises(NotInWorkspace, match=why):
        read_text(workspace, named, BYTES_MAX)
    with pytest.raises(NotInWorkspace):
        write_text(workspace, named, "changed", BYTES_MAX)
    assert (tmp_path / "x.txt").read_text() == "secret"


@requirement("P.acp.limits")
def test_a_text_has_a_limit_both_ways(workspace: Workspace) -> None:
    path = workspace.root / "large.txt"
    with pytest.raises(NotInWorkspace, match="would have more than 100 bytes"):
        write_text(workspace, str(path), "ä" * 51, BYTES_MAX)
    assert not path.exists()
    path.write_text("x" * 101)
    with pytest.raises(NotInWorkspace, match="has more than 100 bytes"):
        read_text(workspace, str(path), BYTES_MAX)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(NotInWorkspace, match="is not UTF-8 text"):
        read_text(workspace, str(path), BYTES_MAX)


@requirement("P.acp.files")
def test_a_workspace_in_whose_place_a_link_was_put_is_not_made(workspace: Workspace, tmp_path: Path) -> None:
    workspace.root.rmdir()
    workspace.root.symlink_to(tmp_path)
    with pytest.raises(OSError, match="Not a directory"):
        make_workspace(workspace)

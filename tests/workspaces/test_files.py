"""Workspaces: an agent may put links anywhere, and none of them leads us out of its workspace."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from carrel.workspaces import CannotPlace, NewFile, Workspace, held_folders, place_files, remove_folder
from tests.requirements.mark import requirement

FILES = (NewFile("a.txt", b"sheep"),)


def workspace_in(folder: Path, attachments: str = ".openclaw/attachments") -> Workspace:
    return Workspace(base=folder, root=folder / "desk", attachments=attachments)


def treasure_in(folder: Path) -> Path:
    """A folder outside the workspace that must stay unchanged."""
    outside = folder / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "gold").write_text("gold")
    return outside


def assert_untouched(outside: Path) -> None:
    assert sorted(str(path.relative_to(outside)) for path in outside.rglob("*")) == ["deep", "deep/gold"]


def test_a_folder_is_placed_listed_and_removed(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    assert held_folders(workspace) == []
    remove_folder(workspace, "one")
    place_files(workspace, "one", FILES)
    place_files(workspace, "two", FILES)
    assert sorted(name for name, _ in held_folders(workspace)) == ["one", "two"]
    remove_folder(workspace, "one")
    remove_folder(workspace, "one")
    assert [name for name, _ in held_folders(workspace)] == ["two"]


def test_an_existing_folder_is_not_written_into(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    placed = place_files(workspace, "one", FILES)
    with pytest.raises(CannotPlace):
        place_files(workspace, "one", (NewFile("b.txt", b"wolf"),))
    assert sorted(path.name for path in (workspace.root / placed.receipt.rel_dir).iterdir()) == [
        "a.txt",
        "manifest.json",
    ]


def test_if_one_file_cannot_be_placed_none_is(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    with pytest.raises(CannotPlace):
        place_files(workspace, "one", (*FILES, NewFile("x" * 300, b"")))
    assert held_folders(workspace) == []


@requirement("S2.spawn.attachments.cleanup")
def test_links_inside_a_folder_are_removed_but_not_their_targets(tmp_path: Path) -> None:
    workspace, outside = workspace_in(tmp_path), treasure_in(tmp_path)
    folder = workspace.root / place_files(workspace, "one", FILES).receipt.rel_dir
    (folder / "to folder").symlink_to(outside)
    (folder / "to file").symlink_to(outside / "deep" / "gold")
    (folder / "up").symlink_to("../../..")
    (folder / "sub").mkdir()
    (folder / "sub" / "deeper").symlink_to(outside / "deep")
    remove_folder(workspace, "one")
    assert held_folders(workspace) == []
    assert_untouched(outside)


@requirement("S2.spawn.attachments.cleanup")
def test_a_folder_is_gone_for_each_of_several_that_remove_it_at_once(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    folder = workspace.root / place_files(workspace, "one", FILES).receipt.rel_dir
    for number in range(500):
        (folder / str(number)).touch()
    begin = Barrier(4)

    def removed(_: int) -> bool:
        begin.wait()
        remove_folder(workspace, "one")
        return not folder.exists()

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(removed, range(4)))


@requirement("S2.spawn.attachments.cleanup")
def test_a_link_that_replaced_a_folder_is_removed_itself(tmp_path: Path) -> None:
    workspace, outside = workspace_in(tmp_path), treasure_in(tmp_path)
    place_files(workspace, "one", FILES)
    (workspace.root / ".openclaw/attachments/two").symlink_to(outside)
    (workspace.root / ".openclaw/attachments/three").write_text("a file")
    remove_folder(workspace, "two")
    remove_folder(workspace, "three")
    assert [name for name, _ in held_folders(workspace)] == ["one"]
    assert_untouched(outside)


@requirement("S2.spawn.attachments.cleanup")
@pytest.mark.parametrize("at", [".", ".openclaw", ".openclaw/attachments"])
def test_a_link_on_the_path_is_not_followed(tmp_path: Path, at: str) -> None:
    workspace, outside = workspace_in(tmp_path), treasure_in(tmp_path)
    link = workspace.root / at
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    (outside / "attachments").symlink_to(outside)
    assert held_folders(workspace) == []
    with pytest.raises(OSError):
        remove_folder(workspace, "deep")
    with pytest.raises(CannotPlace):
        place_files(workspace, "one", FILES)
    (outside / "attachments").unlink()
    assert_untouched(outside)


@pytest.mark.parametrize("attachments", ["/etc", "../up", "a/../../b", ""])
def test_a_path_out_of_the_workspace_places_nothing(tmp_path: Path, attachments: str) -> None:
    with pytest.raises(CannotPlace):
        place_files(workspace_in(tmp_path, attachments), "one", FILES)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []

"""Workspaces: the folders that agents work in. Only this room writes or removes files for them.

It follows no symbolic link below the folder of all workspaces. Its callers decide which files are still needed.
"""

from carrel.workspaces.files import CannotPlace, held_folders, place_files, read_placed, remove_folder
from carrel.workspaces.model import MANIFEST, NewFile, PlacedFiles, Receipt, Workspace, require_inside, workspace_in
from carrel.workspaces.texts import NotInWorkspace, make_workspace, read_text, write_text

__all__ = [
    "MANIFEST", "CannotPlace", "NewFile", "NotInWorkspace", "PlacedFiles", "Receipt", "Workspace", "held_folders",
    "make_workspace", "place_files", "read_placed", "read_text", "remove_folder", "require_inside", "workspace_in",
    "write_text",
]  # fmt: skip

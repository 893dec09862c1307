"""Workspaces: the folders that agents work in. Only this room writes or removes files for them.

It follows no symbolic link below the folder of all workspaces. Its callers decide which files are still needed.
"""

from carrel.workspaces.files import CannotPlace, held_folders, place_files, read_placed, remove_folder
from carrel.workspaces.model import MANIFEST, NewFile, Placed, Receipt, Workspace, require_inside, workspace_in

__all__ = [
    "MANIFEST",
    "CannotPlace",
    "NewFile",
    "Placed",
    "Receipt",
    "Workspace",
    "held_folders",
    "place_files",
    "read_placed",
    "remove_folder",
    "require_inside",
    "workspace_in",
]

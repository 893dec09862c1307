"""Folders that agents work in: the only room that writes files for them or removes any.

It follows no symbolic link below a workspace, whoever made it. It knows no store: which files are still wanted is for
others to say.
"""

from carrel.workspaces.files import CannotPlace, held_folders, place_files, remove_folder
from carrel.workspaces.model import MANIFEST, NewFile, Placed, Receipt, Workspace

__all__ = [
    "MANIFEST",
    "CannotPlace",
    "NewFile",
    "Placed",
    "Receipt",
    "Workspace",
    "held_folders",
    "place_files",
    "remove_folder",
]

"""Workspaces and the files placed in them, as values."""

from hashlib import sha256
from pathlib import Path, PurePosixPath

from msgspec import Struct

MANIFEST = "manifest.json"


class NewFile(Struct, frozen=True):
    """A file to be placed; its name was checked before."""

    name: str
    content: bytes


class Attached(Struct, frozen=True):
    """A placed file as its receipt lists it."""

    name: str
    bytes: int
    sha256: str


class Receipt(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was placed, and where in the workspace; the manifest next to the files has the same content."""

    count: int
    total_bytes: int
    rel_dir: str
    files: list[Attached]


class Placed(Struct, frozen=True, kw_only=True):
    """Files in a workspace, with all it takes to find them again even if settings and profiles change."""

    root: str
    attachments: str
    folder: str
    receipt: Receipt

    @property
    def workspace(self) -> "Workspace":
        """The workspace that contains them."""
        return Workspace(root=Path(self.root), attachments=self.attachments)


class Workspace(Struct, frozen=True, kw_only=True):
    """The folder of one agent, and the path in it below which attachment folders are created."""

    root: Path
    attachments: str

    @property
    def path_parts(self) -> tuple[str, ...]:
        """The folder names from the root to the attachments; raises ValueError if they lead out of the workspace."""
        path = PurePosixPath(self.attachments)
        if path.is_absolute() or not path.parts or ".." in path.parts:
            raise ValueError(f"'{self.attachments}' is not inside a workspace")
        return path.parts

    def rel_dir(self, folder: str) -> str:
        """Return the path of one folder, relative to the root."""
        return "/".join((*self.path_parts, folder))


def receipt_of(workspace: Workspace, folder: str, files: tuple[NewFile, ...]) -> Receipt:
    """Return the receipt for files placed in a folder."""
    placed = [Attached(file.name, len(file.content), sha256(file.content).hexdigest()) for file in files]
    return Receipt(
        count=len(placed),
        total_bytes=sum(file.bytes for file in placed),
        rel_dir=workspace.rel_dir(folder),
        files=placed,
    )

"""Workspaces and what is placed in them, as values. Pure."""

from hashlib import sha256
from pathlib import Path, PurePosixPath

from msgspec import Struct

MANIFEST = "manifest.json"


class NewFile(Struct, frozen=True):
    """A file to be placed, its name checked by whoever took it in."""

    name: str
    content: bytes


class Attached(Struct, frozen=True):
    """A placed file as its receipt names it."""

    name: str
    bytes: int
    sha256: str


class Receipt(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was placed, and where in the workspace; the manifest beside the files says the same."""

    count: int
    total_bytes: int
    rel_dir: str
    files: list[Attached]


class Placed(Struct, frozen=True, kw_only=True):
    """Files in a workspace: all that must be known to find them again, whatever becomes of settings and profiles."""

    root: str
    attachments: str
    folder: str
    receipt: Receipt

    @property
    def workspace(self) -> "Workspace":
        """The workspace they lie in."""
        return Workspace(root=Path(self.root), attachments=self.attachments)


class Workspace(Struct, frozen=True, kw_only=True):
    """The folder of one agent, and where in it folders of attachments lie."""

    root: Path
    attachments: str

    @property
    def steps(self) -> tuple[str, ...]:
        """The names on the way from the root to the folders; ValueError where they would lead out of it."""
        path = PurePosixPath(self.attachments)
        if path.is_absolute() or not path.parts or ".." in path.parts:
            raise ValueError(f"'{self.attachments}' does not lie inside a workspace")
        return path.parts

    def rel_dir(self, folder: str) -> str:
        """The path of one folder from the root."""
        return "/".join((*self.steps, folder))


def receipt_of(workspace: Workspace, folder: str, files: tuple[NewFile, ...]) -> Receipt:
    """The receipt for files that lie in a folder."""
    placed = [Attached(file.name, len(file.content), sha256(file.content).hexdigest()) for file in files]
    return Receipt(
        count=len(placed),
        total_bytes=sum(file.bytes for file in placed),
        rel_dir=workspace.rel_dir(folder),
        files=placed,
    )

"""Workspaces and the files placed in them, as values."""

from hashlib import sha256
from pathlib import Path, PurePath

from msgspec import Struct

from carrel.kernel import invalid

MANIFEST = "manifest.json"


class NewFile(Struct, frozen=True):
    """A file to be placed; its name was checked before."""

    name: str
    content: bytes


class Attached(Struct, frozen=True):
    name: str
    bytes: int
    sha256: str


class Receipt(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was placed, and where in the workspace; the manifest next to the files has the same content."""

    count: int
    total_bytes: int
    rel_dir: str
    files: list[Attached]


class PlacedFiles(Struct, frozen=True, kw_only=True):
    """Placed files, with everything needed to find them even if settings and profiles change.

    `base` is empty for files that were placed before it was recorded.
    """

    root: str
    attachments: str
    folder: str
    receipt: Receipt
    base: str = ""

    @property
    def workspace(self) -> "Workspace":
        root = Path(self.root)
        return Workspace(base=Path(self.base) if self.base else root, root=root, attachments=self.attachments)


class Workspace(Struct, frozen=True, kw_only=True):
    """The folder of one agent, and the path in it below which attachment folders are created.

    `base` is the folder of all workspaces, which belongs to the operator. Below it agents may have put links anywhere.
    """

    base: Path
    root: Path
    attachments: str

    @property
    def path_parts(self) -> tuple[str, ...]:
        """The folder names from the base to the attachments; raises ValueError if they lead out of the workspace."""
        return (*self.root_parts, *self._attachment_parts)

    @property
    def root_parts(self) -> tuple[str, ...]:
        """The folder names from the base to the workspace; raises ValueError if they lead out of the base."""
        return _inside(self.root.relative_to(self.base))

    @property
    def _attachment_parts(self) -> tuple[str, ...]:
        parts = _inside(PurePath(self.attachments))
        if not parts:
            raise ValueError("the attachments have no folder of their own in the workspace")
        return parts

    def rel_dir(self, folder: str) -> str:
        """Return the path of one folder, relative to the root."""
        return "/".join((*self._attachment_parts, folder))


def workspace_in(base: Path, account_id: str, wanted: str, *, attachments: str) -> Workspace:
    """Return a workspace in an account's own folder; an absolute path must be below that folder."""
    own, path = base / account_id, PurePath(wanted)
    if path.is_relative_to(own):
        path = path.relative_to(own)
    require_inside(str(path))
    return Workspace(base=base, root=own / path, attachments=attachments)


def require_inside(workspace: str) -> None:
    """Refuse a workspace path that leads out of its account's folder."""
    if not _is_inside(workspace):
        raise invalid(
            "workspace",
            f"The workspace '{workspace}' is outside its account's folder; give a path relative to that folder. Only "
            "the operator can move the folder of all workspaces, with the setting agents.workspaces_dir.",
        )


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "~")) and ".." not in PurePath(path).parts and "\0" not in path


def _inside(path: PurePath) -> tuple[str, ...]:
    if not _is_inside(str(path)):
        raise ValueError(f"'{path}' is not inside a workspace")
    return path.parts


def receipt_of(workspace: Workspace, folder: str, files: tuple[NewFile, ...]) -> Receipt:
    placed = [Attached(file.name, len(file.content), sha256(file.content).hexdigest()) for file in files]
    return Receipt(
        count=len(placed),
        total_bytes=sum(file.bytes for file in placed),
        rel_dir=workspace.rel_dir(folder),
        files=placed,
    )

"""Artifacts as files: each piece that an agent added to its run, with a name and a safe media type. Pure."""

import base64
from collections.abc import Iterable
from typing import Literal

from msgspec import structs

from carrel.kernel import Shape, clip
from carrel.kernel.limits import ARTIFACT_PREVIEW_CHARS_MAX
from carrel.records.artifact_store import Artifact

FileKind = Literal["text", "file", "url", "data"]
_KINDS: dict[str, FileKind] = {"text": "text", "bytes": "file", "url": "url", "data": "data"}
_TEXT = "text/plain; charset=utf-8"
_ANY = "application/octet-stream"
# What a browser shows without executing anything in it. The rest is sent as plain text or bytes.
_SAFE = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf", "application/json"})


class ArtifactFields(Shape, frozen=True, kw_only=True):
    """What is said of a piece of a result."""

    id: str
    run_id: str
    name: str | None
    kind: FileKind
    media_type: str | None
    filename: str | None


class ArtifactFile(ArtifactFields, frozen=True, kw_only=True):
    """A downloadable piece of a result; texts that were appended to one another are one piece."""

    content: bytes
    added_at: int

    @property
    def safe_media_type(self) -> str:
        """The media type to send it with: never one that a browser would execute."""
        if self.kind == "data":
            return "application/json"
        if self.media_type in _SAFE and self.kind == "file":
            return self.media_type
        return _ANY if self.kind == "file" else _TEXT

    @property
    def text(self) -> str | None:
        """Its beginning, if it is a text."""
        return None if self.kind == "file" else clip(self.content.decode(), ARTIFACT_PREVIEW_CHARS_MAX)


def artifact_files(run_id: str, parts: Iterable[Artifact]) -> list[ArtifactFile]:
    """Return the parts of a run's artifacts as files, in order."""
    files: dict[tuple[str, int], ArtifactFile] = {}
    newest: dict[str, tuple[str, int]] = {}
    for part in parts:
        before = newest.get(part.artifact_id)
        if part.kind == "text" and before is not None and files[before].kind == "text":
            longer = files[before].content + part.content.encode()
            files[before] = structs.replace(files[before], content=longer, added_at=part.added_at)
            continue
        newest[part.artifact_id] = place = (part.artifact_id, part.seq)
        files[place] = _file(run_id, part)
    return list(files.values())


def run_of_artifact(file_id: str) -> str:
    """Return the run of an artifact id."""
    return file_id.partition(".")[0]


def _file(run_id: str, part: Artifact) -> ArtifactFile:
    content = base64.b64decode(part.content) if part.kind == "bytes" else part.content.encode()
    return ArtifactFile.of(part, id=f"{run_id}.{part.seq}", run_id=run_id, kind=_KINDS[part.kind], content=content)

"""Files: attachments, sent ahead of the message or entry that they belong to, and what agents added to their runs."""

from urllib.parse import quote

from starlette.responses import Response

from carrel.board import read_file
from carrel.kernel import PEOPLE, Access, NewAttachment, not_found
from carrel.monitoring import visible_run
from carrel.records import (
    ArtifactFields,
    ArtifactFile,
    FileShape,
    artifact_files,
    artifacts_of,
    keep_file,
    run_of_artifact,
)
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.work import actor_of


class ArtifactShape(ArtifactFields, frozen=True, kw_only=True):
    """A piece of a result; `text` is its beginning if it is a text."""

    bytes: int
    url: str | None
    text: str | None
    added_at: str


@endpoint("POST", "/api/attachments", "attachment", who=PEOPLE, file="file", creates=True)
def upload_attachment(call: Call[NewAttachment, NoQuery], tx: Tx, access: Access) -> FileShape:
    """Send a file, to be named in the message or entry that it belongs to; without one it is deleted after a day."""
    return keep_file(tx, access, call.body, actor_of(tx, access).party_id)


@endpoint("GET", "/api/attachments/{id}", answers={200: bytes}, media="*/*")
def download_attachment(call: Call[None, NoQuery], tx: LongTx, access: Access) -> Response:
    """Get the content of a file, for download only."""
    file = read_file(tx, access, call.path("id"))
    return _download(file.name, file.content, file.mime_type)


@endpoint("GET", "/api/runs/{id}/artifacts", "artifacts")
def list_artifacts(call: Call[None, NoQuery], tx: LongTx, access: Access) -> list[ArtifactShape]:
    """List what the agent of a run added to it."""
    return [_shape(file) for file in _files(tx, access, call.path("id"))]


@endpoint("GET", "/api/artifacts/{id}/content", answers={200: bytes}, media="*/*")
def download_artifact(call: Call[None, NoQuery], tx: LongTx, access: Access) -> Response:
    """Get the content of an artifact, for download only."""
    wanted = call.path("id")
    for file in _files(tx, access, run_of_artifact(wanted)):
        if file.id == wanted:
            return _download(file.filename or file.name or file.id, file.content, file.safe_media_type)
    raise not_found("artifact")


def _files(tx: LongTx, access: Access, run_id: str) -> list[ArtifactFile]:
    run = visible_run(tx, access, run_id)
    return artifact_files(run.id, artifacts_of(tx, access, run.id))


def _shape(file: ArtifactFile) -> ArtifactShape:
    text, is_url = file.text, file.kind == "url"
    return ArtifactShape.of(file, bytes=len(file.content), url=text if is_url else None, text=None if is_url else text)


def _download(name: str, content: bytes, media_type: str) -> Response:
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, headers=headers, media_type=media_type)

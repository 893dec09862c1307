"""Artifacts: what agents added to their runs, to be listed and downloaded."""

from starlette.responses import Response

from carrel.kernel import Access, not_found
from carrel.monitoring import visible_run
from carrel.records import ArtifactFields, ArtifactFile, artifact_files, artifacts_of, run_of_artifact
from carrel.storage import LongTx
from carrel.surfaces.api.attachments import download
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint


class ArtifactShape(ArtifactFields, frozen=True, kw_only=True):
    """A piece of a result; `text` is its beginning if it is a text."""

    bytes: int
    url: str | None
    text: str | None
    added_at: str


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
            return download(file.filename or file.name or file.id, file.content, file.safe_media_type)
    raise not_found("artifact")


def _files(tx: LongTx, access: Access, run_id: str) -> list[ArtifactFile]:
    run = visible_run(tx, access, run_id)
    return artifact_files(run.id, artifacts_of(tx, access, run.id))


def _shape(file: ArtifactFile) -> ArtifactShape:
    text, is_url = file.text, file.kind == "url"
    return ArtifactShape.of(file, bytes=len(file.content), url=text if is_url else None, text=None if is_url else text)

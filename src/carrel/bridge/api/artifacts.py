"""Operations on artifacts: list and download what agents added to their runs."""

from carrel.bridge.api.operations import Call, D, Group, operation
from carrel.bridge.api.requests import Request, segment
from carrel.bridge.api.shapes import Artifact, Page, read_page


class Artifacts(Group[D]):
    """What agents added to the runs that the token may see."""

    @operation
    def list(self, run_id: str) -> Call[Page[Artifact]]:
        """Return the artifacts of a run, in the order in which they were added."""
        return read_page(Artifact, (yield Request("GET", f"/api/runs/{segment(run_id)}/artifacts")), "artifacts")

    @operation
    def content(self, artifact_id: str) -> Call[bytes]:
        """Return the content of an artifact."""
        content: bytes = yield Request("GET", f"/api/artifacts/{segment(artifact_id)}/content", wants_bytes=True)
        return content

"""Artifact parts of a run: added within the run's limits."""

from carrel.kernel import Code, Refusal, limits
from carrel.records import Artifact, artifact_sizes, insert_artifact
from carrel.runs import count_change, publish_change
from carrel.storage import Tx
from carrel.tools.model import Caller


def known_artifacts(tx: Tx, caller: Caller, size: int) -> set[str]:
    """Return the ids of the run's artifacts; refuse a part whose stored size exceeds the limits."""
    present = artifact_sizes(tx, caller.access, caller.own_run.id)
    if len(present) >= limits.ARTIFACTS_PER_RUN_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A run has at most {limits.ARTIFACTS_PER_RUN_MAX} artifact parts.")
    left = limits.ARTIFACT_BYTES_PER_RUN_MAX - sum(taken for _, taken in present)
    if size > left:
        raise Refusal(
            Code.LIMIT_REACHED,
            f"The artifacts of a run have at most {limits.ARTIFACT_BYTES_PER_RUN_MAX} bytes together. This part has "
            f"{size}, and {max(0, left)} are left; give a link to it instead.",
        )
    return {artifact_id for artifact_id, _ in present}


def add_part(
    tx: Tx, caller: Caller, artifact_id: str, *, kind: str, content: str, name: str | None = None,
    media_type: str | None = None, filename: str | None = None, append: bool = False,
) -> None:  # fmt: skip
    """Add a part to an artifact of the caller's run, and publish it."""
    part = Artifact(
        artifact_id=artifact_id,
        seq=tx.tick(),
        name=name,
        media_type=media_type,
        filename=filename,
        kind=kind,
        content=content,
        added_at=tx.now,
        change=count_change(tx, caller.own_run),
    )
    insert_artifact(tx, caller.access, caller.own_run.id, part)
    publish_change(
        tx, caller.own_run, "run.artifact", state="running", artifactId=artifact_id, append=append, part=part.seq
    )

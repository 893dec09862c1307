"""The SQL of artifacts: results that an agent adds to its run, in parts."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Tx

# The reply of a run stands among its artifacts under this id.
REPLY_ARTIFACT = "result"


class Artifact(Struct, frozen=True):
    """One part an agent added in a turn; parts of one artifact share its id and are read in order."""

    artifact_id: str
    seq: int
    name: str | None
    media_type: str | None
    filename: str | None
    kind: str
    content: str
    added_at: int
    change: int


def insert_artifact(tx: Tx, access: Access, run_id: str, artifact: Artifact) -> None:
    """Write one part of an artifact."""
    tx.run(
        "INSERT INTO artifacts (account_id, run_id, seq, artifact_id, name, media_type, filename, kind, content, "
        "added_at, change) VALUES (:account, :run_id, :seq, :artifact_id, :name, :media_type, :filename, :kind, "
        ":content, :now, :change)",
        account=access.account_id,
        run_id=run_id,
        seq=artifact.seq,
        artifact_id=artifact.artifact_id,
        name=artifact.name,
        media_type=artifact.media_type,
        filename=artifact.filename,
        kind=artifact.kind,
        content=artifact.content,
        now=tx.now,
        change=artifact.change,
    )


_ARTIFACT = ", ".join(Artifact.__struct_fields__)


def artifacts_of(tx: Tx, access: Access, run_id: str) -> list[Artifact]:
    """Every part a run's agent added, in order."""
    rows = tx.all(
        f"SELECT {_ARTIFACT} FROM artifacts WHERE account_id = :account AND run_id = :run_id ORDER BY seq",
        account=access.account_id,
        run_id=run_id,
    )
    return [Artifact(*row) for row in rows]


def artifact_sizes(tx: Tx, access: Access, run_id: str) -> list[tuple[str, int]]:
    """The artifact that every part of a run belongs to, and how many bytes the part takes."""
    rows = tx.all(
        "SELECT artifact_id, octet_length(content) FROM artifacts WHERE account_id = :account AND run_id = :run_id",
        account=access.account_id,
        run_id=run_id,
    )
    return [(row[0], row[1]) for row in rows]


def artifact_part(tx: Tx, access: Access, run_id: str, seq: int) -> Artifact | None:
    """One part of an artifact by its number."""
    row = tx.one(
        f"SELECT {_ARTIFACT} FROM artifacts WHERE account_id = :account AND run_id = :run_id AND seq = :seq",
        account=access.account_id,
        run_id=run_id,
        seq=seq,
    )
    return None if row is None else Artifact(*row)

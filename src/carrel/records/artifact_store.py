"""The SQL of artifacts: results that an agent adds to its run, in parts."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Table, Tx, in_list

# A run's reply is listed among its artifacts under this id.
REPLY_ARTIFACT = "result"


class ArtifactFields(Struct, frozen=True):
    """One part of an artifact: its position, and what it is."""

    artifact_id: str
    seq: int
    name: str | None
    media_type: str | None
    filename: str | None
    kind: str


class Artifact(ArtifactFields, frozen=True):
    """One part that an agent added in a turn; parts of one artifact share its id and are in order."""

    content: str
    added_at: int
    change: int


class ArtifactHead(ArtifactFields, frozen=True):
    """One part of a run's artifact without its content; `stored_bytes` is the stored size, base64 for files."""

    run_id: str
    stored_bytes: int


_TABLE = Table("artifacts", Artifact, key=("account_id", "run_id", "seq"))


def insert_artifact(tx: Tx, access: Access, run_id: str, artifact: Artifact) -> None:
    """Write one part of an artifact."""
    tx.run(_TABLE.insert, access, run_id=run_id, **_TABLE.values(artifact) | {"added_at": tx.now})


def artifacts_of(tx: Tx, access: Access, run_id: str) -> list[Artifact]:
    """Return every part that a run's agent added, in order."""
    return _TABLE.all(tx, access, "run_id = :run_id ORDER BY seq", run_id=run_id)


def artifact_sizes(tx: Tx, access: Access, run_id: str) -> list[tuple[str, int]]:
    """Return (artifact id, size in bytes) of every part of a run."""
    sql = "SELECT artifact_id, octet_length(content) FROM artifacts WHERE account_id = :account AND run_id = :run_id"
    return [(row[0], row[1]) for row in tx.all(sql, access, run_id=run_id)]


def artifact_heads(tx: Tx, access: Access, run_ids: Iterable[str], *, limit: int) -> list[ArtifactHead]:
    """Return the newest parts that the agents of those runs added, in order."""
    listed, names = in_list("run", run_ids)
    if not names:
        return []
    sql = (
        "SELECT artifact_id, seq, name, media_type, filename, kind, run_id, octet_length(content) FROM artifacts "
        f"WHERE account_id = :account AND run_id IN ({listed}) ORDER BY seq DESC LIMIT :limit"
    )
    return [ArtifactHead(*row) for row in reversed(tx.all(sql, access, limit=limit, **names))]


def artifact_part(tx: Tx, access: Access, run_id: str, seq: int) -> Artifact | None:
    """Return one part of an artifact by its number."""
    return _TABLE.one(tx, access, "run_id = :run_id AND seq = :seq", run_id=run_id, seq=seq)

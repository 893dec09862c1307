"""The SQL of what belongs to a run: artifacts and attachments; and the lists of runs."""

from hashlib import sha256

from msgspec import Struct

from carrel.kernel import Access, NewAttachment
from carrel.runs.model import Run
from carrel.runs.store import run_from
from carrel.storage import Tx

_RUN = ", ".join(f"r.{name}" for name in Run.__struct_fields__)


# The reply of a run stands among its artifacts under this id.
REPLY_ARTIFACT = "result"


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs a list wants; what is None is not asked for."""

    key: str | None = None
    agent_id: str | None = None
    task_id: str | None = None
    actor_id: str | None = None
    state: str | None = None
    provenance_kind: str | None = None


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


class Attachment(Struct, frozen=True):
    """A file that came with a message."""

    id: str
    name: str
    mime_type: str
    size_bytes: int
    sha256: str
    content: bytes


def runs_newest_first(tx: Tx, access: Access, wanted: RunFilter, *, before: str | None, limit: int) -> list[Run]:
    """Runs behind a cursor, newest first."""
    where, values = ["r.account_id = :account"], {"account": access.account_id}
    for name in RunFilter.__struct_fields__:
        value = getattr(wanted, name)
        if value is not None:
            where.append(f"r.{name} = :{name}")
            values[name] = value
    if before is not None:
        where.append("r.id < :before")
        values["before"] = before
    rows = tx.all(
        f"SELECT {_RUN} FROM runs r WHERE {' AND '.join(where)} ORDER BY r.id DESC LIMIT :limit", limit=limit, **values
    )
    return [run_from(row) for row in rows]


def count_live(tx: Tx, access: Access) -> dict[tuple[str, str], int]:
    """How many runs are queued, running and waiting, by (state, agent)."""
    rows = tx.all(
        "SELECT state, agent_id, count(*) FROM runs WHERE account_id = :account AND state IN "
        "('queued', 'running', 'waiting') "
        "GROUP BY state, agent_id",
        account=access.account_id,
    )
    return {(row[0], row[1]): row[2] for row in rows}


def stuck_lanes(tx: Tx, access: Access) -> dict[str, int]:
    """How many lanes are held by a run whose lease ran out, by agent."""
    rows = tx.all(
        "SELECT agent_id, count(*) FROM runs WHERE account_id = :account AND state = 'running' AND lease_until <= :now "
        "GROUP BY agent_id",
        account=access.account_id,
        now=tx.now,
    )
    return {row[0]: row[1] for row in rows}


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


def insert_attachment(tx: Tx, access: Access, new: NewAttachment) -> str:
    """Keep a file that came with a message; its id."""
    attachment_id = tx.new_id("att")
    tx.run(
        "INSERT INTO attachments (account_id, id, name, mime_type, size_bytes, sha256, content, created_at) "
        "VALUES (:account, :id, :name, :mime_type, :size_bytes, :sha256, :content, :now)",
        account=access.account_id,
        id=attachment_id,
        name=new.name,
        mime_type=new.mime_type,
        size_bytes=len(new.content),
        sha256=sha256(new.content).hexdigest(),
        content=new.content,
        now=tx.now,
    )
    return attachment_id


def attachments_by_id(tx: Tx, access: Access, ids: tuple[str, ...]) -> list[Attachment]:
    """The files of those ids, in that order."""
    found = []
    for attachment_id in ids:
        row = tx.one(
            "SELECT id, name, mime_type, size_bytes, sha256, content FROM attachments WHERE "
            "account_id = :account AND id = :id",
            account=access.account_id,
            id=attachment_id,
        )
        if row is not None:
            found.append(Attachment(row[0], row[1], row[2], row[3], row[4], bytes(row[5])))
    return found

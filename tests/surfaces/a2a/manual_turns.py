"""Turns that a test takes step by step, for a server without workers."""

from collections.abc import Callable

from carrel.records import Artifact, insert_artifact
from carrel.runs import Claim, Outcome, bind_session, count_change, fence, publish_change
from carrel.runs.claims import claim
from carrel.runs.outcomes import settle
from carrel.sessions import open_generation
from carrel.storage import Database, Tx

LEASE_MS = 600_000


async def begin(db: Database) -> Claim:
    """Claim the one run that is due and bind it to its session."""

    def work(tx: Tx) -> Claim:
        (held,) = claim(tx, "by-hand", LEASE_MS, 1)
        session = open_generation(tx, held.access, held.session_key)
        bind_session(tx, held, session.id, session.generation)
        return held

    return await db.write(work)


def add_part(held: Claim, text: str, artifact_id: str, *, append: bool = False) -> Callable[[Tx], None]:
    """Return the work that adds a part to an artifact, as the agent's tool does."""

    def work(tx: Tx) -> None:
        fence(tx, held)
        part = Artifact(
            artifact_id=artifact_id,
            seq=tx.tick(),
            name=None,
            media_type=None,
            filename=None,
            kind="text",
            content=text,
            added_at=tx.now,
            change=count_change(tx, held),
        )
        insert_artifact(tx, held.access, held.id, part)
        publish_change(tx, held, "run.artifact", state="running", artifactId=artifact_id, append=append, part=part.seq)

    return work


async def add(db: Database, held: Claim, text: str, artifact_id: str, *, append: bool = False) -> None:
    """Add a part to an artifact."""
    await db.write(add_part(held, text, artifact_id, append=append))


async def end(db: Database, held: Claim, outcome: Outcome) -> None:
    """End the turn with the outcome."""
    await db.write(lambda tx: settle(tx, held, outcome))

"""What must hold when everything has settled. Pure, over what was read from the store."""

import json
from collections import Counter
from dataclasses import dataclass

from carrel.storage import Tx, open_database
from tests.spawns.clients import Said, Spawned


@dataclass(frozen=True)
class Evidence:
    """What the store holds at the end."""

    # First run -> (state, step, error, announcement, requester, target).
    exchanges: dict[str, tuple[str, str, str | None, str | None, str, str]]
    # (requester's lane, child) of every announcement in a lane, by a run or by an entry alone.
    announced: Counter[tuple[str, str]]
    # Run -> state.
    runs: dict[str, str]
    lanes: set[str]
    leftovers: int


async def read_evidence(url: str) -> Evidence:
    """Read it from a store whose servers have stopped."""
    db = open_database(url)
    try:
        return await db.read(_evidence)
    finally:
        await db.close()


def _evidence(tx: Tx) -> Evidence:
    exchanges = tx.all(
        "SELECT first_run_id, state, step, error, announcement, requester_key, target_key FROM exchanges "
        "WHERE kind = 'spawn'"
    )
    by_run = tx.all("SELECT key, provenance FROM runs WHERE provenance_kind = 'announce' AND key NOT LIKE '%subagent%'")
    alone = tx.all("SELECT key, provenance FROM entries WHERE run_id IS NULL AND role = 'user'")
    return Evidence(
        exchanges={row[0]: tuple(row[1:]) for row in exchanges},
        announced=Counter((key, json.loads(source)["sourceSessionKey"]) for key, source in [*by_run, *alone]),
        runs={row[0]: row[1] for row in tx.all("SELECT id, state FROM runs")},
        lanes={row[0] for row in tx.all("SELECT key FROM lanes")},
        leftovers=len(tx.all("SELECT id FROM leftovers")),
    )


def violations(said: Said, evidence: Evidence) -> list[str]:
    """Return one sentence for each broken promise."""
    broken = [sentence for spawned in said.spawned for sentence in _of_spawn(said, evidence, spawned)]
    for run_id, (state, step, error, told, _, _) in evidence.exchanges.items():
        if state == "open":
            broken.append(f"the spawn {run_id} is still open, at {step}")
        if state == "undelivered" and (not error or not told):
            broken.append(f"the spawn {run_id} is undelivered and does not say why, or not what")
    broken += [
        f"{run_id} is still {state}" for run_id, state in evidence.runs.items() if state in ("queued", "running")
    ]
    broken += [
        f"{child} was announced {times} times in {lane}"
        for (lane, child), times in evidence.announced.items()
        if times > 1
    ]
    if evidence.leftovers:
        broken.append(f"{evidence.leftovers} folders were left lying")
    return broken


def _of_spawn(said: Said, evidence: Evidence, spawned: Spawned) -> list[str]:
    found = evidence.exchanges.get(spawned.run_id)
    times = evidence.announced[spawned.lane, spawned.child]
    # Announcements in a lane are deleted with the lane.
    may_be_gone = spawned.lane in said.deleted
    if found is None:
        if spawned.cleanup != "delete" or spawned.child in evidence.lanes:
            return [f"{spawned} was accepted and is lost"]
        return [] if times == 1 or may_be_gone or spawned.notes == "skip" else [f"{spawned} went before its announce"]
    state = found[0]
    if state == "delivered" and times != 1 and not may_be_gone:
        return [f"{spawned} counts as delivered and is in its lane {times} times"]
    if state == "skipped" and spawned.notes != "skip":
        return [f"{spawned} was skipped and nobody said so"]
    if state == "undelivered" and not may_be_gone:
        return [f"{spawned} was not delivered though its lane is there: {found[2]}"]
    return []

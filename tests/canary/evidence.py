"""Reading what a world leaves behind from its store."""

import json
from bisect import bisect
from collections import defaultdict
from typing import TYPE_CHECKING

from carrel.storage import Tx
from tests.canary.checks import Evidence, epoch_of
from tests.canary.marks import marks_in

if TYPE_CHECKING:
    from tests.canary.world import Twin, World

_EVENTS = (
    "SELECT seq, name, key, generation, run_id, task_id, body FROM events WHERE account_id = :account "
    "AND name IN ('session.opened', 'task.moved', 'run.queued') ORDER BY seq"
)
_RUNS = "SELECT id, key, generation, text FROM runs WHERE account_id = :account AND generation IS NOT NULL"
_FAILED = (
    "SELECT key, error_message FROM runs WHERE account_id = :account AND state = 'failed' "
    "AND COALESCE(reason, '') <> 'interrupted'"
)
_UNFINISHED = (
    "SELECT 1 FROM runs WHERE account_id = :account AND state IN ('queued', 'running') LIMIT 1",
    "SELECT 1 FROM task_run_ends WHERE account_id = :account LIMIT 1",
)


def is_settled(tx: Tx, twins: list["Twin"]) -> bool:
    """Return whether every run has ended or waits for an answer, and every end is handled."""
    return not any(tx.one(sql, account=twin.access.account_id) for twin in twins for sql in _UNFINISHED)


async def read_evidence(world: "World") -> Evidence:
    """Return what the gateway received, with what is needed to judge it."""
    evidence = Evidence(
        requests=world.model.received,
        epochs={},
        chats={twin.slug: twin.chat for twin in world.twins if twin.chat is not None},
        task_scoped=world.server.rules.task_scoped,
    )
    for twin in world.twins:
        await world.server.read(lambda tx, twin=twin: _read(tx, twin, evidence))  # type: ignore[misc]
    return evidence


def _read(tx: Tx, twin: "Twin", evidence: Evidence) -> None:
    account = twin.access.account_id
    evidence.failures.extend(f"a run of {row[0]} failed: {row[1]}" for row in tx.all(_FAILED, account=account))
    reopenings, queued = defaultdict[str, list[int]](list), dict[str, int]()
    for seq, name, key, generation, run_id, task_id, body in tx.all(_EVENTS, account=account):
        if name == "run.queued":
            queued.setdefault(run_id, seq)
        elif name == "session.opened":
            evidence.epochs[twin.slug, key, generation] = len(reopenings[task_id or ""])
        elif json.loads(body)["from"] == "done" and json.loads(body)["to"] == "review":
            reopenings[task_id].append(seq)
    heard = tx.all(_RUNS, account=account)
    for run_id, key, generation, text in sorted(heard, key=lambda run: queued[run[0]]):
        for mark in marks_in(text) if ":task:" in key else ():
            # It may be older than the session that hears it, but not than the moment at which it was queued.
            if epoch_of(evidence, mark) >= bisect(reopenings[mark.place], queued[run_id]):
                evidence.carried[mark] = max(evidence.epochs[twin.slug, key, generation], evidence.carried.get(mark, 0))

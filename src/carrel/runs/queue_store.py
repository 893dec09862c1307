"""The SQL of lanes as queues: entering and leaving, the head, claims and leases."""

from msgspec import structs

from carrel.kernel import INTERNAL_CHANNEL, Access
from carrel.runs.model import Claim, Run, require_move
from carrel.runs.store import CLAIM_TABLE, RUN_TABLE, may_move
from carrel.storage import Row, Tx

_LANE = "account_id = :account AND key = :key"
# Executed for every run, so its text is built once.
_SELECT_NEXT = f"SELECT {CLAIM_TABLE.columns} FROM runs WHERE {_LANE} AND state = 'queued' ORDER BY seq LIMIT 1"


def hold_entry(tx: Tx, access: Access, key: str) -> Row | None:
    """Lock a lane before entering it and return (depth, send policy, agent enabled, maker); None without a lane."""
    sql = (
        "SELECT l.depth, l.send_policy, g.enabled, l.made_by FROM lanes l JOIN agents g ON g.account_id = l.account_id "
        "AND g.id = l.agent_id WHERE l.account_id = :account AND l.key = :key FOR UPDATE OF l"
    )
    row = tx.one(sql, access, key=key)
    return None if row is None else (int(row[0]), row[1], bool(row[2]), row[3])


def enter_lane(tx: Tx, access: Access, key: str, channel: str) -> None:
    """Count one more run in a locked lane; messages between lanes do not change its channel."""
    kept = channel == INTERNAL_CHANNEL
    sql = (
        "UPDATE lanes SET depth = depth + 1, updated_at = :now, archived_at = NULL, "
        f"last_channel = {'last_channel' if kept else ':channel'} WHERE {_LANE}"
    )
    tx.pipeline(sql, access, key=key, now=tx.now, **({} if kept else {"channel": channel}))


def leave_lane(tx: Tx, access: Access, key: str) -> None:
    """Count one run less in a lane; this locks the lane."""
    tx.pipeline(f"UPDATE lanes SET depth = depth - 1 WHERE {_LANE}", access, key=key)


def stay_in_lane(tx: Tx, access: Access, key: str) -> None:
    """Undo `leave_lane` for a run that stays."""
    tx.pipeline(f"UPDATE lanes SET depth = depth + 1 WHERE {_LANE}", access, key=key)


def insert_run(tx: Tx, run: Run) -> None:
    tx.pipeline(RUN_TABLE.insert, run, **RUN_TABLE.values(run))


def extend_queued(tx: Tx, access: Access, run: Run, text: str) -> bool:
    """Replace the text and the recipient of a run that has not started; False if it was claimed meanwhile."""
    sql = (
        "UPDATE runs SET text = :text, updated_at = :now, space_ids = :space_ids, behalf = :behalf "
        "WHERE account_id = :account AND id = :id AND state = 'queued' AND attempt = 0 AND session_id IS NULL"
    )
    of_run: dict[str, object] = {"id": run.id, "space_ids": run.space_ids, "behalf": run.behalf}
    return tx.run(sql, access, text=text, now=tx.now, **of_run) > 0


_START = (
    "UPDATE runs SET state = 'running', due_at = NULL, held_for = NULL, attempt = :attempt, claim_no = :claim_no, "
    "worker = :worker, lease_until = :lease_until, started_at = :started_at, updated_at = :updated_at, "
    "changes = changes + 1, "
    f"deadline_at = :deadline_at WHERE account_id = :account_id AND id = :id AND {may_move('queued', to='running')}"
)


def start(tx: Tx, heads: list[Claim], worker: str, lease_until: int) -> list[Claim]:
    """Start runs; every claim is made here. The runs or their lanes must be locked."""
    for run in heads:
        require_move(run.state, "running")
    claimed = [
        structs.replace(
            run,
            state="running",
            attempt=run.attempt + 1,
            # One more than this run's last claim, which is all that a fence has to tell apart.
            claim_no=run.claim_no + 1,
            started_at=run.started_at or tx.now,
            updated_at=tx.now,
            deadline_at=(run.deadline_at or tx.now + run.timeout_ms) if run.timeout_ms else None,
        )
        for run in heads
    ]
    if claimed:
        lease: dict[str, object] = {"worker": worker, "lease_until": lease_until}
        tx.run_many(_START, [CLAIM_TABLE.values(run) | lease for run in claimed])
    return claimed


def next_due(tx: Tx, after: int = -1) -> int | None:
    """Return when the next head of a lane may be claimed, across all accounts: the first such time after `after`."""
    row = tx.one("SELECT due_at FROM runs WHERE due_at > :after ORDER BY due_at LIMIT 1", after=after)
    return row[0] if row else None


def renew_leases(tx: Tx, worker: str, held: list[Claim], lease_until: int) -> None:
    """Extend the leases of what a worker is working on; an expired lease stays expired."""
    sql = (
        "UPDATE runs SET lease_until = :lease_until WHERE account_id = :account_id AND id = :id AND state = 'running' "
        "AND worker = :worker AND claim_no = :claim_no AND lease_until > :now"
    )
    lease: dict[str, object] = {"worker": worker, "lease_until": lease_until, "now": tx.now}
    tx.run_many(sql, [CLAIM_TABLE.values(run) | lease for run in held])


def stopping_runs(tx: Tx, worker: str) -> list[tuple[str, str]]:
    """Return (run id, reason) of the runs that a worker holds and should stop."""
    sql = "SELECT id, stopping FROM runs WHERE state = 'running' AND worker = :worker AND stopping IS NOT NULL"
    return [(row[0], row[1]) for row in tx.all(sql, worker=worker)]


def lost_runs(tx: Tx, limit: int) -> list[Run]:
    """Return running runs across all accounts whose lease has expired."""
    sql = f"{RUN_TABLE.select} WHERE state = 'running' AND lease_until <= :now ORDER BY account_id, key LIMIT :limit"
    return RUN_TABLE.rows(tx.all(sql, now=tx.now, limit=limit))


def expire_leases(tx: Tx) -> int:
    """Expire every lease: for the only server of a store, which has just started and holds none."""
    return tx.run("UPDATE runs SET lease_until = 0 WHERE state = 'running'")


def promote_next(tx: Tx, access: Access, key: str) -> bool:
    """Make the oldest queued run of a free lane its head; the lane must be locked."""
    head = next_in_lane(tx, access, key)
    if head is None:
        return False
    tx.pipeline(
        "UPDATE runs SET due_at = :now WHERE account_id = :account AND id = :id", access, id=head.id, now=tx.now
    )
    return True


def next_in_lane(tx: Tx, access: Access, key: str) -> Claim | None:
    """Return the oldest queued run of a lane."""
    return CLAIM_TABLE.row(tx.one(_SELECT_NEXT, access, key=key))


def before_in_lane(tx: Tx, access: Access, run: Run) -> Claim | None:
    """Return the queued run right before another one of its lane."""
    where = "key = :key AND state = 'queued' AND seq < :seq ORDER BY seq DESC LIMIT 1"
    return CLAIM_TABLE.one(tx, access, where, key=run.key, seq=run.seq)


def swap_positions(tx: Tx, access: Access, run: Run, other: Claim) -> None:
    """Swap two queued runs of a locked lane; neither may be the head, which may be claimed at any time."""
    sql = (
        "UPDATE runs SET seq = :seq, updated_at = :now, changes = changes + 1 "
        "WHERE account_id = :account AND id = :id AND state = 'queued' AND due_at IS NULL"
    )
    tx.run(sql, access, id=run.id, seq=other.seq, now=tx.now)
    tx.run(sql, access, id=other.id, seq=run.seq, now=tx.now)


def live_runs_of_lane(tx: Tx, access: Access, key: str) -> list[Run]:
    """Return the running, queued and waiting runs of a lane, in queue order."""
    where = "key = :key AND state IN ('running', 'queued', 'waiting') ORDER BY seq"
    return RUN_TABLE.all(tx, access, where, key=key)


def lane_head(tx: Tx, access: Access, key: str) -> Run | None:
    """Return the run that holds a lane: the running one, or the next one, however long it has to wait."""
    return RUN_TABLE.one(tx, access, "key = :key AND (due_at IS NOT NULL OR state = 'running')", key=key)


def running_of_lane(tx: Tx, access: Access, key: str) -> Run | None:
    return RUN_TABLE.one(tx, access, "key = :key AND state = 'running'", key=key)


def lane_is_busy(tx: Tx, access: Access, key: str) -> bool:
    return tx.one(f"SELECT 1 FROM runs WHERE {_LANE} AND state = 'running'", access, key=key) is not None


def queue_position(tx: Tx, run: Run) -> int | None:
    """Return a run's position in its queue, 1 for the next; None when it is not queued."""
    if run.state != "queued":
        return None
    sql = f"SELECT count(*) FROM runs WHERE {_LANE} AND state = 'queued' AND seq <= :seq"
    row = tx.one(sql, run, key=run.key, seq=run.seq)
    return int(row[0]) if row else None

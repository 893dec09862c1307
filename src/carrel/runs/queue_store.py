"""The SQL of lanes as queues: entering and leaving, the head, the claim, and who holds what."""

from msgspec import structs

from carrel.kernel import INTERNAL_CHANNEL, Access
from carrel.runs.model import Claim, Run
from carrel.runs.store import RUN_COLUMNS, run_from
from carrel.storage import Row, Tx

_CLAIM = ", ".join(Claim.__struct_fields__)
_MINE = "account_id = :account AND id = :id"


def hold_entry(tx: Tx, access: Access, key: str) -> Row | None:
    """Hold a lane before entering it; (runs in it, send policy, agent enabled, maker), None for no lane."""
    row = tx.one(
        "SELECT l.depth, l.send_policy, g.enabled, l.made_by FROM lanes l JOIN agents g ON g.account_id = l.account_id "
        "AND g.id = l.agent_id WHERE l.account_id = :account AND l.key = :key FOR UPDATE OF l",
        account=access.account_id,
        key=key,
    )
    return None if row is None else (int(row[0]), row[1], bool(row[2]), row[3])


def enter_lane(tx: Tx, access: Access, key: str, channel: str) -> None:
    """Count one more run in a lane, which must be held; what lanes say to one another leaves its channel as it is."""
    tx.run(
        "UPDATE lanes SET depth = depth + 1, updated_at = :now, "
        f"last_channel = {'last_channel' if channel == INTERNAL_CHANNEL else ':channel'}, archived_at = NULL "
        "WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
        now=tx.now,
        **({} if channel == INTERNAL_CHANNEL else {"channel": channel}),
    )


def leave_lane(tx: Tx, access: Access, key: str) -> None:
    """Count one run less in a lane and hold the lane."""
    tx.run(
        "UPDATE lanes SET depth = depth - 1 WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
    )


def stay_in_lane(tx: Tx, access: Access, key: str) -> None:
    """Take back that a run left its lane."""
    tx.run(
        "UPDATE lanes SET depth = depth + 1 WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
    )


# What a new run says of itself; every other column begins with the schema's default.
_SAID = (
    "account_id", "id", "key", "agent_id", "seq", "state", "attempts_max", "timeout_ms", "provenance",
    "provenance_kind", "created_at", "updated_at", "task_id", "actor_id", "message_id", "text", "channel",
    "attachment_ids", "due_at", "label", "parent_run_id", "retried_from", "sender_id", "original",
)  # fmt: skip
_INSERT = f"INSERT INTO runs ({', '.join(_SAID)}) VALUES ({', '.join(f':{name}' for name in _SAID)})"


def insert_run(tx: Tx, run: Run) -> None:
    """Write a new run."""
    tx.run(_INSERT, **_only(run, _SAID))


def claim_due(tx: Tx, worker: str, lease_until: int, limit: int) -> list[Claim]:
    """Take the oldest due heads of lanes, of whatever account, for one worker."""
    rows = tx.all(
        f"SELECT {_CLAIM} FROM runs WHERE due_at <= :now ORDER BY due_at, seq LIMIT :limit FOR UPDATE SKIP LOCKED",
        now=tx.now,
        limit=limit,
    )
    return start(tx, [Claim(*row) for row in rows], worker, lease_until)


_STARTED = ("account_id", "id", "state", "attempt", "claim_no", "started_at", "updated_at", "deadline_at")
_START = (
    "UPDATE runs SET state = :state, due_at = NULL, attempt = :attempt, claim_no = :claim_no, worker = :worker, "
    "lease_until = :lease_until, started_at = :started_at, updated_at = :updated_at, changes = changes + 1, "
    "deadline_at = :deadline_at WHERE account_id = :account_id AND id = :id"
)


def start(tx: Tx, heads: list[Claim], worker: str, lease_until: int) -> list[Claim]:
    """The one place where work starts; the runs, or their lanes, must be held."""
    claimed = [
        structs.replace(
            run,
            state="running",
            attempt=run.attempt + 1,
            # One more than the last claim of this very run: that is all a fence has to tell apart.
            claim_no=run.claim_no + 1,
            started_at=run.started_at or tx.now,
            updated_at=tx.now,
            deadline_at=(run.deadline_at or tx.now + run.timeout_ms) if run.timeout_ms else None,
        )
        for run in heads
    ]
    if claimed:
        tx.run_many(_START, [_only(run, _STARTED) | {"worker": worker, "lease_until": lease_until} for run in claimed])
    return claimed


def _only(run: Claim, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(run, name) for name in names}


def next_due(tx: Tx) -> int | None:
    """When the next head of a lane may be claimed, in whatever account."""
    row = tx.one("SELECT due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
    return row[0] if row else None


def renew_leases(tx: Tx, worker: str, held: list[Claim], lease_until: int) -> None:
    """Extend what a worker is working on; a lease that ran out stays out."""
    tx.run_many(
        "UPDATE runs SET lease_until = :lease_until WHERE account_id = :account_id AND id = :id AND state = 'running' "
        "AND worker = :worker AND claim_no = :claim_no AND lease_until > :now",
        [
            _only(run, ("account_id", "id", "claim_no")) | {"worker": worker, "lease_until": lease_until, "now": tx.now}
            for run in held
        ],
    )


def stopping_runs(tx: Tx, worker: str) -> list[tuple[str, str]]:
    """(run id, reason) of what a worker holds and should stop."""
    rows = tx.all(
        "SELECT id, stopping FROM runs WHERE state = 'running' AND worker = :worker AND stopping IS NOT NULL",
        worker=worker,
    )
    return [(row[0], row[1]) for row in rows]


def lost_runs(tx: Tx, limit: int) -> list[Run]:
    """Running runs whose lease ran out, of whatever account."""
    rows = tx.all(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE state = 'running' AND lease_until <= :now "
        "ORDER BY account_id, key LIMIT :limit",
        now=tx.now,
        limit=limit,
    )
    return [run_from(row) for row in rows]


def expire_leases(tx: Tx) -> int:
    """Let every lease run out now: for the only server of a store, which has just started and holds none."""
    return tx.run("UPDATE runs SET lease_until = 0 WHERE state = 'running'")


def promote_next(tx: Tx, access: Access, key: str) -> bool:
    """Make the oldest queued run of a free lane its head; the lane must be held."""
    head = next_in_lane(tx, access, key)
    if head is None:
        return False
    tx.run(f"UPDATE runs SET due_at = :now WHERE {_MINE}", account=access.account_id, id=head.id, now=tx.now)
    return True


def next_in_lane(tx: Tx, access: Access, key: str) -> Claim | None:
    """The oldest queued run of a lane."""
    row = tx.one(
        f"SELECT {_CLAIM} FROM runs WHERE account_id = :account AND key = :key AND state = 'queued' "
        "ORDER BY seq LIMIT 1",
        account=access.account_id,
        key=key,
    )
    return None if row is None else Claim(*row)


def live_runs_of_lane(tx: Tx, access: Access, key: str) -> list[Run]:
    """What is running, queued or waiting in a lane, in queue order."""
    rows = tx.all(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE account_id = :account AND key = :key AND state IN ('running', "
        "'queued', 'waiting') "
        "ORDER BY seq",
        account=access.account_id,
        key=key,
    )
    return [run_from(row) for row in rows]


def running_of_lane(tx: Tx, access: Access, key: str) -> Run | None:
    """The one running run of a lane."""
    row = tx.one(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE account_id = :account AND key = :key AND state = 'running'",
        account=access.account_id,
        key=key,
    )
    return None if row is None else run_from(row)


def lane_is_busy(tx: Tx, access: Access, key: str) -> bool:
    """True while a run of the lane is being worked on."""
    row = tx.one(
        "SELECT 1 FROM runs WHERE account_id = :account AND key = :key AND state = 'running'",
        account=access.account_id,
        key=key,
    )
    return row is not None


def queue_position(tx: Tx, run: Run) -> int | None:
    """1 for the next of its lane; None when it does not queue."""
    if run.state != "queued":
        return None
    row = tx.one(
        "SELECT count(*) FROM runs WHERE account_id = :account AND key = :key AND state = 'queued' AND seq <= :seq",
        account=run.account_id,
        key=run.key,
        seq=run.seq,
    )
    return int(row[0]) if row else None

"""The SQL of runs: the queue, the claim and every move. Nothing here decides; it only writes what was decided."""

from msgspec import structs

from carrel.kernel import Access, first_id
from carrel.runs.model import Claim, Run
from carrel.storage import Row, Tx

_FIELDS = Run.__struct_fields__
_RUN = ", ".join(_FIELDS)
_CLAIM = ", ".join(Claim.__struct_fields__)
_POSITIONAL = len(Claim.__struct_fields__)
_NAMED = _FIELDS[_POSITIONAL:]
_MINE = "account_id = :account AND id = :id"


def enter_lane(tx: Tx, access: Access, key: str, channel: str) -> Row | None:
    """Count one more run in a lane and hold the lane; (depth now, its send policy), None when there is no such lane."""
    row = tx.one(
        "SELECT depth, send_policy FROM lanes WHERE account_id = :account AND key = :key FOR UPDATE",
        account=access.account_id,
        key=key,
    )
    if row is None:
        return None
    tx.run(
        "UPDATE lanes SET depth = depth + 1, updated_at = :now, last_channel = :channel, archived_at = NULL "
        "WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
        now=tx.now,
        channel=channel,
    )
    return (row[0] + 1, row[1])


def leave_lane(tx: Tx, access: Access, key: str) -> int:
    """Count one run less in a lane and hold the lane; how many are left."""
    row = tx.one(
        "SELECT depth FROM lanes WHERE account_id = :account AND key = :key FOR UPDATE",
        account=access.account_id,
        key=key,
    )
    assert row is not None
    tx.run(
        "UPDATE lanes SET depth = depth - 1 WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
    )
    return int(row[0]) - 1


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
    "attachment_ids", "due_at", "label", "parent_run_id", "retried_from", "sender_id",
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
    return _start(tx, [Claim(*row) for row in rows], worker, lease_until)


def claim_next(tx: Tx, access: Access, key: str, worker: str, lease_until: int) -> list[Claim]:
    """Take the oldest queued run of a free lane straight away, without making it the head first."""
    row = tx.one(
        f"SELECT {_CLAIM} FROM runs WHERE account_id = :account AND key = :key AND state = 'queued' "
        "ORDER BY seq LIMIT 1",
        account=access.account_id,
        key=key,
    )
    return [] if row is None else _start(tx, [Claim(*row)], worker, lease_until)


def any_due(tx: Tx) -> bool:
    """True when the head of some lane may be claimed now, in whatever account."""
    return tx.one("SELECT 1 FROM runs WHERE due_at <= :now LIMIT 1", now=tx.now) is not None


_STARTED = ("account_id", "id", "state", "attempt", "claim_no", "started_at", "updated_at", "deadline_at")
_START = (
    "UPDATE runs SET state = :state, due_at = NULL, attempt = :attempt, claim_no = :claim_no, worker = :worker, "
    "lease_until = :lease_until, started_at = :started_at, updated_at = :updated_at, changes = changes + 1, "
    "deadline_at = :deadline_at WHERE account_id = :account_id AND id = :id"
)


def _start(tx: Tx, due: list[Claim], worker: str, lease_until: int) -> list[Claim]:
    """The one place where work starts."""
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
        for run in due
    ]
    if claimed:
        tx.run_many(_START, [_only(run, _STARTED) | {"worker": worker, "lease_until": lease_until} for run in claimed])
    return claimed


def _only(run: Claim, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(run, name) for name in names}


def run_from(row: Row) -> Run:
    """A row of the columns of Run, in their order."""
    return Run(*row[:_POSITIONAL], **dict(zip(_NAMED, row[_POSITIONAL:], strict=True)))


def next_due(tx: Tx) -> int | None:
    """When the next head of a lane may be claimed, in whatever account."""
    row = tx.one("SELECT due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
    return row[0] if row else None


def renew_leases(tx: Tx, worker: str, held: list[Claim], lease_until: int) -> int:
    """Extend what a worker is working on; a lease that ran out stays out."""
    return sum(
        tx.run(
            f"UPDATE runs SET lease_until = :lease_until WHERE {_MINE} AND state = 'running' AND worker = :worker "
            "AND claim_no = :claim_no AND lease_until > :now",
            account=run.account_id,
            id=run.id,
            claim_no=run.claim_no,
            worker=worker,
            lease_until=lease_until,
            now=tx.now,
        )
        for run in held
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
        f"SELECT {_RUN} FROM runs WHERE state = 'running' AND lease_until <= :now ORDER BY lease_until LIMIT :limit",
        now=tx.now,
        limit=limit,
    )
    return [run_from(row) for row in rows]


def expire_leases(tx: Tx) -> int:
    """Let every lease run out now: for the only server of a store, which has just started and holds none."""
    return tx.run("UPDATE runs SET lease_until = 0 WHERE state = 'running'")


def expired_waits(tx: Tx, before: int, limit: int) -> list[Run]:
    """Runs that have waited for a person since before a moment, of whatever account."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE account_id IN (SELECT id FROM accounts) AND state = 'waiting' "
        "AND updated_at < :before "
        "LIMIT :limit",
        before=before,
        limit=limit,
    )
    return [run_from(row) for row in rows]


def ended_runs(tx: Tx, access: Access, before: int, *, a2a: bool, limit: int) -> list[Run]:
    """Runs that ended before a moment, oldest first. Ids sort by time, so what is younger is never looked at."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND id < :upto AND ended_at < :before "
        f"AND provenance_kind {'=' if a2a else '<>'} 'a2a' ORDER BY id LIMIT :limit",
        account=access.account_id,
        upto=first_id("run", before),
        before=before,
        limit=limit,
    )
    return [run_from(row) for row in rows]


def run_by_id(tx: Tx, access: Access, run_id: str) -> Run | None:
    """One run."""
    row = tx.one(f"SELECT {_RUN} FROM runs WHERE {_MINE}", account=access.account_id, id=run_id)
    return None if row is None else run_from(row)


def hold_run(tx: Tx, access: Access, run_id: str) -> Run | None:
    """One run, held until the end of the transaction."""
    row = tx.one(f"SELECT {_RUN} FROM runs WHERE {_MINE} FOR UPDATE", account=access.account_id, id=run_id)
    return None if row is None else run_from(row)


def run_by_sender(tx: Tx, access: Access, sender_id: str) -> Run | None:
    """The run that this caller's message of that id became."""
    row = tx.one(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND actor_id = :actor AND sender_id = :sender_id",
        account=access.account_id,
        actor=access.actor_id,
        sender_id=sender_id,
    )
    return None if row is None else run_from(row)


def promote_next(tx: Tx, access: Access, key: str) -> bool:
    """Make the oldest queued run of a free lane its head; the lane must be held."""
    row = tx.one(
        "SELECT id FROM runs WHERE account_id = :account AND key = :key AND state = 'queued' ORDER BY seq LIMIT 1",
        account=access.account_id,
        key=key,
    )
    if row is None:
        return False
    tx.run(f"UPDATE runs SET due_at = :now WHERE {_MINE}", account=access.account_id, id=row[0], now=tx.now)
    return True


def claimed_stop(tx: Tx, run: Claim) -> Row | None:
    """(why it should stop, if it should) while the claim holds; None once it is over. Holds the run."""
    return tx.one(
        f"SELECT stopping FROM runs WHERE {_MINE} AND state = 'running' AND claim_no = :claim_no AND "
        "lease_until > :now FOR UPDATE",
        account=run.account_id,
        id=run.id,
        claim_no=run.claim_no,
        now=tx.now,
    )


def end_claimed(tx: Tx, run: Claim, *, state: str, reason: str | None, reply: str | None, note: str | None,
                error_code: str | None, error_message: str | None, usage: str | None) -> bool:  # fmt: skip
    """End a run that is still this very claim's and was not asked to stop; a stopped one can only become cancelled."""
    return bool(
        tx.run(
            "UPDATE runs SET state = :state, reason = :reason, reply = :reply, note = :note, error_code = :error_code, "
            "error_message = :error_message, usage = COALESCE(:usage, usage), worker = NULL, lease_until = NULL, "
            "ended_at = :now, "
            f"updated_at = :now, changes = changes + 1 WHERE {_MINE} AND state = 'running' AND claim_no = :claim_no "
            "AND lease_until > :now AND (stopping IS NULL OR :state = 'cancelled')",
            account=run.account_id,
            id=run.id,
            claim_no=run.claim_no,
            now=tx.now,
            state=state,
            reason=reason,
            reply=reply,
            note=note,
            error_code=error_code,
            error_message=error_message,
            usage=usage,
        )
    )


def end_unclaimed(tx: Tx, access: Access, run_id: str, *, state: str, reason: str, error_code: str | None = None,
                  error_message: str | None = None) -> None:  # fmt: skip
    """End a run that no worker holds; the run must be held by this transaction."""
    tx.run(
        "UPDATE runs SET state = :state, reason = :reason, error_code = :error_code, error_message = "
        ":error_message, due_at = NULL, "
        f"worker = NULL, lease_until = NULL, ended_at = :now, updated_at = :now, changes = changes + 1 WHERE {_MINE}",
        account=access.account_id,
        id=run_id,
        now=tx.now,
        state=state,
        reason=reason,
        error_code=error_code,
        error_message=error_message,
    )


def park_claimed(tx: Tx, run: Claim, *, waiting_for: str, question: str, usage: str | None) -> None:
    """Let a run whose claim was found to hold wait for somebody."""
    tx.run(
        "UPDATE runs SET state = 'waiting', waiting_for = :waiting_for, question = :question, usage "
        "= :usage, worker = NULL, "
        f"lease_until = NULL, deadline_at = NULL, updated_at = :now, changes = changes + 1 WHERE {_MINE}",
        account=run.account_id,
        id=run.id,
        now=tx.now,
        waiting_for=waiting_for,
        question=question,
        usage=usage,
    )


def back_to_head(
    tx: Tx, run: Claim, *, due_at: int, error_code: str | None, error_message: str | None, usage: str | None = None
) -> None:
    """Return a running run to the head of its lane, due at a moment; the run must be held."""
    tx.run(
        "UPDATE runs SET state = 'queued', due_at = :due_at, worker = NULL, lease_until = NULL, "
        "error_code = :error_code, "
        "error_message = :error_message, usage = COALESCE(:usage, usage), updated_at = :now, "
        f"changes = changes + 1 WHERE {_MINE}",
        account=run.account_id,
        id=run.id,
        now=tx.now,
        due_at=due_at,
        error_code=error_code,
        error_message=error_message,
        usage=usage,
    )


def requeue_waiting(tx: Tx, access: Access, run_id: str, *, head: bool) -> None:
    """Put an answered run into its lane again, behind what is queued there now; a fresh count of attempts."""
    tx.run(
        "UPDATE runs SET state = 'queued', seq = tick(), due_at = :due_at, attempt = 0, waiting_for "
        "= NULL, question = NULL, "
        f"updated_at = :now, changes = changes + 1 WHERE {_MINE}",
        account=access.account_id,
        id=run_id,
        due_at=tx.now if head else None,
        now=tx.now,
    )


def ask_to_stop(tx: Tx, access: Access, run_id: str, reason: str) -> None:
    """Mark a running run as to be stopped; from now on its turn writes nothing more."""
    tx.run(
        f"UPDATE runs SET stopping = COALESCE(stopping, :reason), updated_at = :now WHERE {_MINE} AND "
        "state = 'running'",
        account=access.account_id,
        id=run_id,
        reason=reason,
        now=tx.now,
    )


def bind_session(tx: Tx, run: Claim, session_id: str, generation: int) -> None:
    """Say which generation hears a run."""
    tx.run(
        f"UPDATE runs SET session_id = :session_id, generation = :generation WHERE {_MINE}",
        account=run.account_id,
        id=run.id,
        session_id=session_id,
        generation=generation,
    )


def note_instructions(tx: Tx, run: Claim, version: str, sha256: str) -> None:
    """Remember under which instructions a run was put to its agent."""
    tx.run(
        f"UPDATE runs SET instructions_version = :version, instructions_sha256 = :sha256 WHERE {_MINE}",
        account=run.account_id,
        id=run.id,
        version=version,
        sha256=sha256,
    )


def count_change(tx: Tx, run: Claim) -> int:
    """Count one more change of a run and give its number."""
    tx.run(f"UPDATE runs SET changes = changes + 1 WHERE {_MINE}", account=run.account_id, id=run.id)
    row = tx.one(f"SELECT changes FROM runs WHERE {_MINE}", account=run.account_id, id=run.id)
    assert row is not None
    return int(row[0])


def live_runs_of_lane(tx: Tx, access: Access, key: str) -> list[Run]:
    """What is running, queued or waiting in a lane, in queue order."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND key = :key AND state IN ('running', "
        "'queued', 'waiting') "
        "ORDER BY seq",
        account=access.account_id,
        key=key,
    )
    return [run_from(row) for row in rows]


def running_of_lane(tx: Tx, access: Access, key: str) -> Run | None:
    """The one running run of a lane."""
    row = tx.one(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND key = :key AND state = 'running'",
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


def delete_run(tx: Tx, access: Access, run_id: str) -> bool:
    """Forget a run with its calls, artifacts and steps; whether it was there."""
    return bool(tx.run(f"DELETE FROM runs WHERE {_MINE}", account=access.account_id, id=run_id))

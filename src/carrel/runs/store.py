"""The SQL of runs: the queue, the claim and every move. Nothing here decides; it only writes what was decided."""

import msgspec

from carrel.kernel import Access, Envelope
from carrel.runs.model import Run
from carrel.storage import Row, Tx

_FIELDS = Run.__struct_fields__
_RUN = ", ".join(_FIELDS)
_MINE = "account_id = :account AND id = :id"
_text = msgspec.json.encode


def enter_lane(tx: Tx, access: Access, key: str, channel: str) -> Row | None:
    """Count one more run in a lane and hold the lane; (depth now, its send policy, whether its agent is enabled)."""
    return tx.one(
        "UPDATE lanes SET depth = depth + 1, updated_at = :now, last_channel = :channel, archived_at = NULL "
        "WHERE account_id = :account AND key = :key RETURNING depth, send_policy, "
        "(SELECT enabled FROM agents g WHERE g.account_id = lanes.account_id AND g.id = lanes.agent_id)",
        account=access.account_id,
        key=key,
        now=tx.now,
        channel=channel,
    )


def leave_lane(tx: Tx, access: Access, key: str) -> int:
    """Count one run less in a lane and hold the lane; how many are left."""
    row = tx.one(
        "UPDATE lanes SET depth = depth - 1, updated_at = :now WHERE account_id = :account AND key = :key RETURNING depth",
        account=access.account_id,
        key=key,
        now=tx.now,
    )
    assert row is not None
    return int(row[0])


def insert_run(
    tx: Tx, access: Access, run_id: str, envelope: Envelope, *, head: bool, attachment_ids: tuple[str, ...], attempts_max: int,
    timeout_ms: int,
) -> Run:  # fmt: skip
    """Write a new queued run; the head of its lane is due at once."""
    message = envelope.message
    row = tx.one(
        "INSERT INTO runs (account_id, id, key, agent_id, seq, state, due_at, attempts_max, timeout_ms, actor_id, sender_id, "
        "message_id, text, attachment_ids, provenance, provenance_kind, channel, task_id, parent_run_id, retried_from, label, "
        "created_at, updated_at) VALUES (:account, :id, :key, :agent, tick(), 'queued', :due_at, :attempts_max, :timeout_ms, "
        ":actor, :sender_id, :message_id, :text, :attachment_ids, :provenance, :kind, :channel, :task_id, :parent_run_id, "
        f":retried_from, :label, :now, :now) RETURNING {_RUN}",
        account=access.account_id,
        id=run_id,
        key=str(envelope.key),
        agent=envelope.key.agent,
        due_at=tx.now if head else None,
        attempts_max=attempts_max,
        timeout_ms=timeout_ms,
        actor=access.actor_id,
        sender_id=message.sender_id,
        message_id="ent_" + run_id[4:],
        text=message.text,
        attachment_ids=_text(attachment_ids).decode() if attachment_ids else "[]",
        provenance=_text(message.provenance).decode(),
        kind=message.provenance.kind,
        channel=envelope.channel,
        task_id=envelope.task_id,
        parent_run_id=envelope.parent_run_id,
        retried_from=envelope.retried_from,
        label=envelope.label,
        now=tx.now,
    )
    assert row is not None
    return Run(*row)


def claim_due(tx: Tx, worker: str, lease_until: int, limit: int) -> list[Run]:
    """Take the oldest due heads of lanes, of whatever account, for one worker. The one statement that starts work."""
    rows = tx.all(
        "UPDATE runs SET state = 'running', due_at = NULL, attempt = attempt + 1, claim_no = tick(), worker = :worker, "
        "lease_until = :lease_until, started_at = COALESCE(started_at, :now), updated_at = :now, changes = changes + 1, "
        "deadline_at = CASE WHEN timeout_ms = 0 THEN NULL ELSE COALESCE(deadline_at, :now + timeout_ms) END "
        "WHERE (account_id, id) IN (SELECT account_id, id FROM runs WHERE due_at <= :now ORDER BY due_at, seq LIMIT :limit "
        f"FOR UPDATE SKIP LOCKED) AND due_at IS NOT NULL RETURNING {_RUN}",
        worker=worker,
        lease_until=lease_until,
        now=tx.now,
        limit=limit,
    )
    return [Run(*row) for row in rows]


def next_due(tx: Tx) -> int | None:
    """When the next head of a lane may be claimed, in whatever account."""
    row = tx.one("SELECT due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
    return row[0] if row else None


def renew_leases(tx: Tx, worker: str, lease_until: int) -> int:
    """Extend what a worker still holds; a lease that ran out stays out."""
    return tx.run(
        "UPDATE runs SET lease_until = :lease_until WHERE state = 'running' AND worker = :worker AND lease_until > :now",
        worker=worker,
        lease_until=lease_until,
        now=tx.now,
    )


def stopping_runs(tx: Tx, worker: str) -> list[tuple[str, str]]:
    """(run id, reason) of what a worker holds and should stop."""
    rows = tx.all(
        "SELECT id, stopping FROM runs WHERE state = 'running' AND worker = :worker AND stopping IS NOT NULL", worker=worker
    )
    return [(row[0], row[1]) for row in rows]


def lost_runs(tx: Tx, limit: int) -> list[Run]:
    """Running runs whose lease ran out, of whatever account."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE state = 'running' AND lease_until <= :now ORDER BY lease_until LIMIT :limit",
        now=tx.now,
        limit=limit,
    )
    return [Run(*row) for row in rows]


def expire_leases(tx: Tx) -> int:
    """Let every lease run out now: for the only server of a store, which has just started and holds none."""
    return tx.run("UPDATE runs SET lease_until = 0 WHERE state = 'running'")


def expired_waits(tx: Tx, before: int, limit: int) -> list[Run]:
    """Runs that have waited for a person since before a moment, of whatever account."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE account_id IN (SELECT id FROM accounts) AND state = 'waiting' AND updated_at < :before "
        "LIMIT :limit",
        before=before,
        limit=limit,
    )
    return [Run(*row) for row in rows]


def ended_runs(tx: Tx, before: int, *, a2a: bool, limit: int) -> list[Run]:
    """Runs that ended before a moment, of whatever account, oldest first."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE ended_at < :before AND provenance_kind {'=' if a2a else '<>'} 'a2a' "
        "ORDER BY ended_at LIMIT :limit",
        before=before,
        limit=limit,
    )
    return [Run(*row) for row in rows]


def run_by_id(tx: Tx, access: Access, run_id: str) -> Run | None:
    """One run."""
    row = tx.one(f"SELECT {_RUN} FROM runs WHERE {_MINE}", account=access.account_id, id=run_id)
    return None if row is None else Run(*row)


def hold_run(tx: Tx, access: Access, run_id: str) -> Run | None:
    """One run, held until the end of the transaction."""
    row = tx.one(f"SELECT {_RUN} FROM runs WHERE {_MINE} FOR UPDATE", account=access.account_id, id=run_id)
    return None if row is None else Run(*row)


def run_by_sender(tx: Tx, access: Access, sender_id: str) -> Run | None:
    """The run that this caller's message of that id became."""
    row = tx.one(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND actor_id = :actor AND sender_id = :sender_id",
        account=access.account_id,
        actor=access.actor_id,
        sender_id=sender_id,
    )
    return None if row is None else Run(*row)


def promote_next(tx: Tx, access: Access, key: str) -> bool:
    """Make the oldest queued run of a free lane its head; the lane must be held."""
    return bool(
        tx.run(
            "UPDATE runs SET due_at = :now WHERE account_id = :account AND id = (SELECT id FROM runs WHERE account_id = :account "
            "AND key = :key AND state = 'queued' ORDER BY seq LIMIT 1)",
            account=access.account_id,
            key=key,
            now=tx.now,
        )
    )


def end_claimed(tx: Tx, run: Run, *, state: str, reason: str | None, reply: str | None, note: str | None,
                error_code: str | None, error_message: str | None, usage: str | None) -> Row | None:  # fmt: skip
    """End a run that is still this very claim's: its (state, reason), None when it is another's by now.

    A run that was asked to stop ends cancelled whatever its turn brought: nothing said after the stop is kept.
    """
    return tx.one(
        "UPDATE runs SET state = CASE WHEN stopping IS NULL THEN :state ELSE 'cancelled' END, "
        "reason = COALESCE(stopping, :reason), reply = CASE WHEN stopping IS NULL THEN :reply END, note = :note, "
        "error_code = CASE WHEN stopping IS NULL THEN :error_code END, "
        "error_message = CASE WHEN stopping IS NULL THEN :error_message END, usage = :usage, worker = NULL, lease_until = NULL, "
        "ended_at = :now, updated_at = :now, changes = changes + 1 WHERE account_id = :account AND id = :id "
        "AND state = 'running' AND claim_no = :claim_no AND lease_until > :now RETURNING state, reason",
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


def end_unclaimed(tx: Tx, access: Access, run_id: str, *, state: str, reason: str, error_code: str | None = None,
                  error_message: str | None = None) -> None:  # fmt: skip
    """End a run that no worker holds; the run must be held by this transaction."""
    tx.run(
        "UPDATE runs SET state = :state, reason = :reason, error_code = :error_code, error_message = :error_message, due_at = NULL, "
        f"worker = NULL, lease_until = NULL, ended_at = :now, updated_at = :now, changes = changes + 1 WHERE {_MINE}",
        account=access.account_id,
        id=run_id,
        now=tx.now,
        state=state,
        reason=reason,
        error_code=error_code,
        error_message=error_message,
    )


def park_claimed(tx: Tx, run: Run, *, waiting_for: str, question: str, usage: str | None) -> bool:
    """Let a claimed run wait for somebody; False when the claim is over."""
    return bool(
        tx.run(
            "UPDATE runs SET state = 'waiting', waiting_for = :waiting_for, question = :question, usage = :usage, worker = NULL, "
            "lease_until = NULL, deadline_at = NULL, updated_at = :now, changes = changes + 1 "
            "WHERE account_id = :account AND id = :id AND state = 'running' AND claim_no = :claim_no AND lease_until > :now "
            "AND stopping IS NULL",
            account=run.account_id,
            id=run.id,
            claim_no=run.claim_no,
            now=tx.now,
            waiting_for=waiting_for,
            question=question,
            usage=usage,
        )
    )


def back_to_head(tx: Tx, run: Run, *, due_at: int, error_code: str | None, error_message: str | None) -> bool:
    """Return a running run to the head of its lane, due at a moment; False when the claim is over."""
    return bool(
        tx.run(
            "UPDATE runs SET state = 'queued', due_at = :due_at, worker = NULL, lease_until = NULL, error_code = :error_code, "
            "error_message = :error_message, updated_at = :now, changes = changes + 1 "
            "WHERE account_id = :account AND id = :id AND state = 'running' AND claim_no = :claim_no AND stopping IS NULL",
            account=run.account_id,
            id=run.id,
            claim_no=run.claim_no,
            now=tx.now,
            due_at=due_at,
            error_code=error_code,
            error_message=error_message,
        )
    )


def requeue_waiting(tx: Tx, access: Access, run_id: str, *, head: bool) -> None:
    """Put an answered run into its lane again, behind what is queued there now; a fresh count of attempts."""
    tx.run(
        "UPDATE runs SET state = 'queued', seq = tick(), due_at = :due_at, attempt = 0, waiting_for = NULL, question = NULL, "
        f"updated_at = :now, changes = changes + 1 WHERE {_MINE}",
        account=access.account_id,
        id=run_id,
        due_at=tx.now if head else None,
        now=tx.now,
    )


def ask_to_stop(tx: Tx, access: Access, run_id: str, reason: str) -> None:
    """Mark a running run as to be stopped; from now on its turn writes nothing more."""
    tx.run(
        f"UPDATE runs SET stopping = COALESCE(stopping, :reason), updated_at = :now WHERE {_MINE} AND state = 'running'",
        account=access.account_id,
        id=run_id,
        reason=reason,
        now=tx.now,
    )


def held_by_claim(tx: Tx, run: Run) -> bool:
    """True while this very claim may write: not ended, not rescued, not expired, not being stopped. Holds the run."""
    row = tx.one(
        f"SELECT 1 FROM runs WHERE {_MINE} AND state = 'running' AND claim_no = :claim_no AND lease_until > :now "
        "AND stopping IS NULL FOR UPDATE",
        account=run.account_id,
        id=run.id,
        claim_no=run.claim_no,
        now=tx.now,
    )
    return row is not None


def bind_session(tx: Tx, run: Run, session_id: str, generation: int) -> None:
    """Say which generation hears a run."""
    tx.run(
        f"UPDATE runs SET session_id = :session_id, generation = :generation WHERE {_MINE}",
        account=run.account_id,
        id=run.id,
        session_id=session_id,
        generation=generation,
    )


def note_instructions(tx: Tx, run: Run, version: str, sha256: str) -> None:
    """Remember under which instructions a run was put to its agent."""
    tx.run(
        f"UPDATE runs SET instructions_version = :version, instructions_sha256 = :sha256 WHERE {_MINE}",
        account=run.account_id,
        id=run.id,
        version=version,
        sha256=sha256,
    )


def count_change(tx: Tx, run: Run) -> int:
    """Count one more change of a run and give its number."""
    row = tx.one(f"UPDATE runs SET changes = changes + 1 WHERE {_MINE} RETURNING changes", account=run.account_id, id=run.id)
    assert row is not None
    return int(row[0])


def live_runs_of_lane(tx: Tx, access: Access, key: str) -> list[Run]:
    """What is running, queued or waiting in a lane, in queue order."""
    rows = tx.all(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND key = :key AND state IN ('running', 'queued', 'waiting') "
        "ORDER BY seq",
        account=access.account_id,
        key=key,
    )
    return [Run(*row) for row in rows]


def running_of_lane(tx: Tx, access: Access, key: str) -> Run | None:
    """The one running run of a lane."""
    row = tx.one(
        f"SELECT {_RUN} FROM runs WHERE account_id = :account AND key = :key AND state = 'running'",
        account=access.account_id,
        key=key,
    )
    return None if row is None else Run(*row)


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

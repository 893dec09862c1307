"""The SQL of runs by their ids: looking them up and every move but the start. It writes what was decided elsewhere."""

from carrel.kernel import Access, first_id
from carrel.runs.model import Claim, Run
from carrel.storage import Row, Tx

RUN_COLUMNS = ", ".join(Run.__struct_fields__)
_MINE = "account_id = :account AND id = :id"


def run_from(row: Row) -> Run:
    """A row of the columns of Run, in their order."""
    return Run(*row)


def expired_waits(tx: Tx, before: int, limit: int) -> list[Run]:
    """Runs that have waited for a person since before a moment, of whatever account, in the order of lanes."""
    rows = tx.all(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE account_id IN (SELECT id FROM accounts) AND state = 'waiting' "
        "AND updated_at < :before ORDER BY account_id, key LIMIT :limit",
        before=before,
        limit=limit,
    )
    return [run_from(row) for row in rows]


def ended_runs(tx: Tx, access: Access, before: int, *, a2a: bool, limit: int) -> list[Run]:
    """Runs that ended before a moment, oldest first. Ids sort by time, so what is younger is never looked at."""
    rows = tx.all(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE account_id = :account AND id < :upto AND ended_at < :before "
        f"AND provenance_kind {'=' if a2a else '<>'} 'a2a' ORDER BY id LIMIT :limit",
        account=access.account_id,
        upto=first_id("run", before),
        before=before,
        limit=limit,
    )
    return [run_from(row) for row in rows]


def run_by_id(tx: Tx, access: Access, run_id: str) -> Run | None:
    """One run."""
    row = tx.one(f"SELECT {RUN_COLUMNS} FROM runs WHERE {_MINE}", account=access.account_id, id=run_id)
    return None if row is None else run_from(row)


def hold_run(tx: Tx, access: Access, run_id: str) -> Run | None:
    """One run, held until the end of the transaction."""
    row = tx.one(f"SELECT {RUN_COLUMNS} FROM runs WHERE {_MINE} FOR UPDATE", account=access.account_id, id=run_id)
    return None if row is None else run_from(row)


def run_by_sender(tx: Tx, access: Access, sender_id: str) -> Run | None:
    """The run that this caller's message of that id became."""
    row = tx.one(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE account_id = :account AND actor_id = :actor AND sender_id = :sender_id",
        account=access.account_id,
        actor=access.actor_id,
        sender_id=sender_id,
    )
    return None if row is None else run_from(row)


def claimed_stop(tx: Tx, run: Claim) -> Row | None:
    """(why it should stop, the end wanted of it), each if so, while the claim holds; else None. Holds the run."""
    return tx.one(
        f"SELECT stopping, wanted_end FROM runs WHERE {_MINE} AND state = 'running' AND claim_no = :claim_no AND "
        "lease_until > :now FOR UPDATE",
        account=run.account_id,
        id=run.id,
        claim_no=run.claim_no,
        now=tx.now,
    )


def end_claimed(tx: Tx, run: Claim, *, state: str, reason: str | None, reply: str | None, note: str | None,
                error_code: str | None, error_message: str | None, usage: str | None,
                changes: int) -> bool:  # fmt: skip
    """End a run that is still this very claim's and was not asked to stop; a stopped one can only become cancelled.

    One of which another end is wanted is not completed.
    """
    return bool(
        tx.run(
            "UPDATE runs SET state = :state, reason = :reason, reply = :reply, note = :note, error_code = :error_code, "
            "error_message = :error_message, usage = COALESCE(:usage, usage), worker = NULL, lease_until = NULL, "
            "ended_at = :now, "
            f"updated_at = :now, changes = changes + :changes WHERE {_MINE} AND state = 'running' "
            "AND claim_no = :claim_no AND lease_until > :now AND (stopping IS NULL OR :state = 'cancelled') "
            "AND (wanted_end IS NULL OR :state <> 'completed')",
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
            changes=changes,
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
        "UPDATE runs SET state = 'waiting', waiting_for = :waiting_for, question = :question, "
        "usage = COALESCE(:usage, usage), worker = NULL, "
        "wanted_end = NULL, "
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
    """Mark a running run as to be stopped; from now on its turn writes nothing more. It changes when it has stopped."""
    tx.run(
        f"UPDATE runs SET stopping = COALESCE(stopping, :reason) WHERE {_MINE} AND state = 'running'",
        account=access.account_id,
        id=run_id,
        reason=reason,
    )


def want_end(tx: Tx, access: Access, run_id: str, end: str) -> bool:
    """Keep the end that is asked of a running run; False when one is wanted already, or it is to stop."""
    return bool(
        tx.run(
            f"UPDATE runs SET wanted_end = :end WHERE {_MINE} AND state = 'running' AND stopping IS NULL "
            "AND wanted_end IS NULL",
            account=access.account_id,
            id=run_id,
            end=end,
        )
    )


def keep_end(tx: Tx, access: Access, run_id: str, end: str) -> None:
    """Keep the end that is wanted of a run; the run must be held."""
    tx.run(f"UPDATE runs SET wanted_end = :end WHERE {_MINE}", account=access.account_id, id=run_id, end=end)


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
    return change_of(tx, run)


def change_of(tx: Tx, run: Claim) -> int:
    """The number of a run's newest change."""
    row = tx.one(f"SELECT changes FROM runs WHERE {_MINE}", account=run.account_id, id=run.id)
    assert row is not None, "what is told of is there"
    return int(row[0])


def delete_run(tx: Tx, access: Access, run_id: str) -> bool:
    """Forget a run with its calls, artifacts and steps; whether it was there."""
    return bool(tx.run(f"DELETE FROM runs WHERE {_MINE}", account=access.account_id, id=run_id))

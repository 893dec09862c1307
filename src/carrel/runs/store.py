"""The SQL of runs: finding and deleting them, every move except the start, and what their senders add to turns."""

import msgspec

from carrel.kernel import Access, TurnExtras, first_id
from carrel.runs.model import ENDS, Claim, Run, require_move, states_before
from carrel.storage import Row, Table, Tx, json_column

RUN_TABLE = Table(
    "runs",
    Run,
    # Columns that a new run sets; the schema has defaults for the rest.
    inserted=(
        "account_id", "id", "key", "agent_id", "seq", "state", "attempts_max", "timeout_ms", "provenance",
        "provenance_kind", "created_at", "updated_at", "task_id", "auto_run_id", "patience_ms", "actor_id",
        "message_id", "text", "channel", "attachment_ids", "due_at", "label", "parent_run_id", "retried_from",
        "sender_id", "original", "space_ids", "behalf", "gateway",
    ),
)  # fmt: skip
CLAIM_TABLE = Table("runs", Claim)
_ONE = "account_id = :account AND id = :id"
_OF_LANE = "account_id = :account AND key = :key"
_RUN_BY_ID = f"{RUN_TABLE.select} WHERE {_ONE}"
_EXTRAS = json_column(TurnExtras)
_ids = msgspec.json.Decoder(list[str]).decode
_FENCE = "claim_no = :claim_no AND lease_until > :now"


def may_move(*before: str, to: str) -> str:
    """Return the condition that an UPDATE to this state needs; it allows only the transitions in MOVES."""
    for state in before:
        require_move(state, to)
    quoted = ", ".join(f"'{state}'" for state in before)
    return f"state IN ({quoted})"


def expired_waits(tx: Tx, *, person_before: int, program_before: int, limit: int) -> list[Run]:
    """Return the runs of all accounts that have waited for a person or a program since before a moment, by lane."""
    sql = (
        f"{RUN_TABLE.select} WHERE account_id IN (SELECT id FROM accounts) AND state = 'waiting' "
        "AND updated_at < CASE WHEN waiting_for = 'tool_output' THEN :program_before ELSE :person_before END "
        "ORDER BY account_id, key LIMIT :limit"
    )
    return RUN_TABLE.rows(tx.all(sql, person_before=person_before, program_before=program_before, limit=limit))


def waits_for_outputs(tx: Tx, access: Access, agent_id: str, limit: int) -> list[Run]:
    """Return the caller's newest runs with an agent that wait for outputs of its functions."""
    where = (
        "state = 'waiting' AND waiting_for = 'tool_output' "
        "AND actor_id = :actor AND agent_id = :agent ORDER BY id DESC LIMIT :limit"
    )
    return RUN_TABLE.all(tx, access, where, actor=access.actor_id, agent=agent_id, limit=limit)


def ended_runs(tx: Tx, access: Access, before: int, *, a2a: bool, limit: int) -> list[Run]:
    """Return runs that ended before a moment, oldest first. Ids sort by time, so younger runs are never read."""
    kind = f"provenance_kind {'=' if a2a else '<>'} 'a2a'"
    where = f"id < :upto AND ended_at < :before AND {kind} ORDER BY id LIMIT :limit"
    return RUN_TABLE.all(tx, access, where, upto=first_id("run", before), before=before, limit=limit)


def run_by_id(tx: Tx, access: Access, run_id: str) -> Run | None:
    """Return one run."""
    return RUN_TABLE.row(tx.one(_RUN_BY_ID, access, id=run_id))


def hold_run(tx: Tx, access: Access, run_id: str) -> Run | None:
    """Return one run, locked until the end of the transaction."""
    return RUN_TABLE.row(tx.one(f"{_RUN_BY_ID} FOR UPDATE", access, id=run_id))


def run_by_sender(tx: Tx, access: Access, sender_id: str, *, answered: bool = False) -> Run | None:
    """Return the run of this caller's message with that id; with `answered`, also the run that it answered."""
    sql = f"{RUN_TABLE.select} WHERE account_id = :account AND actor_id = :actor AND sender_id = :sender_id"
    created = RUN_TABLE.row(tx.one(sql, access, actor=access.actor_id, sender_id=sender_id))
    if created is not None or not answered:
        return created
    sql = (
        f"{RUN_TABLE.select} r WHERE r.account_id = :account AND r.id IN (SELECT e.run_id FROM entries e "
        "WHERE e.account_id = :account AND e.message_id = :sender_id AND e.role = 'user' AND e.id <> r.message_id)"
    )
    return RUN_TABLE.row(tx.one(sql, access, sender_id=sender_id))


def claimed_stop(tx: Tx, run: Claim) -> Row | None:
    """Lock a claimed run and return (stop reason, requested end), each None if absent; None for a lost claim.

    The lock keeps both as they are, so they are read once in a unit of work.
    """
    sql = f"SELECT stopping, wanted_end FROM runs WHERE {_ONE} AND state = 'running' AND {_FENCE} FOR UPDATE"
    of_run: dict[str, object] = {"id": run.id, "claim_no": run.claim_no, "now": tx.now}
    return tx.cached(("claim", run.id, run.claim_no), lambda: tx.one(sql, run, **of_run))


_END_CLAIMED = {
    end: (
        "UPDATE runs SET state = :state, reason = :reason, reply = :reply, note = :note, error_code = :error_code, "
        "error_message = :error_message, usage = COALESCE(:usage, usage), worker = NULL, lease_until = NULL, "
        "ended_at = :now, updated_at = :now, changes = changes + :changes "
        f"WHERE {_ONE} AND {may_move('running', to=end)} AND {_FENCE} "
        "AND (stopping IS NULL OR :state = 'cancelled') AND (wanted_end IS NULL OR :state <> 'completed')"
    )
    for end in ENDS
}


def end_claimed(tx: Tx, run: Claim, *, state: str, reason: str | None, reply: str | None, note: str | None,
                error_code: str | None, error_message: str | None, usage: str | None,
                changes: int) -> None:  # fmt: skip
    """End a run that `claimed_stop` has locked; a lost claim writes nothing.

    A run that was asked to stop can only become cancelled, and one with a requested end cannot be completed.
    """
    tx.pipeline(
        _END_CLAIMED[state], run, id=run.id, claim_no=run.claim_no, now=tx.now, state=state, reason=reason,
        reply=reply, note=note, error_code=error_code, error_message=error_message, usage=usage, changes=changes,
    )  # fmt: skip


_END_UNCLAIMED = {
    end: (
        "UPDATE runs SET state = :state, reason = :reason, error_code = :error_code, error_message = :error_message, "
        "due_at = NULL, worker = NULL, lease_until = NULL, ended_at = :now, updated_at = :now, changes = changes + 1 "
        f"WHERE {_ONE} AND {may_move(*states_before(end), to=end)}"
    )
    for end in ENDS
}


def end_unclaimed(tx: Tx, access: Access, run_id: str, *, state: str, reason: str, error_code: str | None = None,
                  error_message: str | None = None) -> None:  # fmt: skip
    """End a run that no worker holds; this transaction must have locked it."""
    error = {"error_code": error_code, "error_message": error_message}
    _require(tx.run(_END_UNCLAIMED[state], access, id=run_id, now=tx.now, state=state, reason=reason, **error))


_PARK = (
    "UPDATE runs SET state = 'waiting', waiting_for = :waiting_for, question = :question, "
    "usage = COALESCE(:usage, usage), worker = NULL, wanted_end = NULL, lease_until = NULL, deadline_at = NULL, "
    f"updated_at = :now, changes = changes + 1 WHERE {_ONE} AND {may_move('running', to='waiting')}"
)


def park_claimed(tx: Tx, run: Claim, *, waiting_for: str, question: str, usage: str | None) -> None:
    """Let a run wait for an answer; the caller must have checked its claim."""
    _require(tx.run(_PARK, run, id=run.id, now=tx.now, waiting_for=waiting_for, question=question, usage=usage))


_BACK_TO_HEAD = (
    "UPDATE runs SET state = 'queued', due_at = :due_at, worker = NULL, lease_until = NULL, "
    "error_code = :error_code, error_message = :error_message, failed_at = :failed_at, "
    "usage = COALESCE(:usage, usage), updated_at = :now, changes = changes + 1 "
    f"WHERE {_ONE} AND {may_move('running', to='queued')}"
)


def back_to_head(
    tx: Tx, run: Claim, *, due_at: int, error_code: str | None, error_message: str | None, usage: str | None = None
) -> None:
    """Return a running run to the head of its lane, due at a moment; this transaction must have locked it."""
    failed_at = None if error_code is None else tx.now
    error = {"error_code": error_code, "error_message": error_message, "failed_at": failed_at}
    _require(tx.run(_BACK_TO_HEAD, run, id=run.id, now=tx.now, due_at=due_at, usage=usage, **error))


_WAIT = (
    "UPDATE runs SET state = 'queued', due_at = :due_at, worker = NULL, lease_until = NULL, attempt = attempt - 1, "
    "held_for = :held_for, unreachable_gateway = :gateway, unreachable_since = :since, failed_at = :now, "
    "error_code = :error_code, error_message = :error_message, usage = COALESCE(:usage, usage), "
    "deadline_at = CASE WHEN patience_ms = 0 THEN deadline_at END, updated_at = :now, changes = changes + 1 "
    f"WHERE {_ONE} AND {may_move('running', to='queued')}"
)


def wait_uncounted(
    tx: Tx, run: Claim, *, due_at: int, error_code: str, error_message: str, usage: str | None,
    held_for: str | None = None, gateway: str | None = None, since: int | None = None,
) -> None:  # fmt: skip
    """Return a running run to the head of its lane without counting this attempt; it must be locked.

    It is held, or has waited for a gateway `since` a moment. Its time limit starts anew when it continues, unless its
    sender set it.
    """
    waits: dict[str, object] = {"held_for": held_for, "gateway": gateway, "since": since}
    error = {"error_code": error_code, "error_message": error_message}
    _require(tx.run(_WAIT, run, id=run.id, now=tx.now, due_at=due_at, usage=usage, **waits, **error))


_REQUEUE = (
    "UPDATE runs SET state = 'queued', seq = tick(), due_at = :due_at, attempt = 0, waiting_for = NULL, "
    "question = NULL, updated_at = :now, changes = changes + 1 "
    f"WHERE {_ONE} AND {may_move('waiting', to='queued')}"
)


def requeue_waiting(tx: Tx, access: Access, run_id: str, *, head: bool) -> None:
    """Put an answered run back into its lane, behind what is queued there now, with a new count of attempts."""
    _require(tx.run(_REQUEUE, access, id=run_id, due_at=tx.now if head else None, now=tx.now))


def _require(moved: int) -> None:
    assert moved, "a locked run is only moved from a state that has this move"


def ask_to_stop(tx: Tx, access: Access, run_id: str, reason: str) -> None:
    """Ask a running run to stop: its turn can write nothing more. The state changes once the turn has stopped."""
    tx.invalidate()
    sql = f"UPDATE runs SET stopping = COALESCE(stopping, :reason) WHERE {_ONE} AND state = 'running'"
    tx.run(sql, access, id=run_id, reason=reason)


def want_end(tx: Tx, access: Access, run_id: str, end: str) -> bool:
    """Store the requested end of a running run; False if it has one already or was asked to stop."""
    tx.invalidate()
    sql = (
        f"UPDATE runs SET wanted_end = :end WHERE {_ONE} AND state = 'running' AND stopping IS NULL "
        "AND wanted_end IS NULL"
    )
    return tx.run(sql, access, id=run_id, end=end) > 0


def keep_end(tx: Tx, access: Access, run_id: str, end: str) -> None:
    """Replace the requested end of a run; this transaction must have locked it."""
    tx.invalidate()
    tx.run(f"UPDATE runs SET wanted_end = :end WHERE {_ONE}", access, id=run_id, end=end)


def bind_session(
    tx: Tx, run: Claim, session_id: str, generation: int, *, version: str | None = None, sha256: str | None = None
) -> None:
    """Record the generation of a run, and the instructions that it is about to be sent with."""
    sql = (
        "UPDATE runs SET session_id = :session_id, generation = :generation, "
        "instructions_version = COALESCE(:version, instructions_version), "
        f"instructions_sha256 = COALESCE(:sha256, instructions_sha256) WHERE {_ONE}"
    )
    named: dict[str, object] = {"session_id": session_id, "generation": generation}
    tx.pipeline(sql, run, id=run.id, version=version, sha256=sha256, **named)


def count_change(tx: Tx, run: Claim) -> int:
    """Count one more change of a run and return its number."""
    tx.run(f"UPDATE runs SET changes = changes + 1 WHERE {_ONE}", run, id=run.id)
    return change_of(tx, run)


def change_of(tx: Tx, run: Claim) -> int:
    """Return the number of a run's newest change."""
    row = tx.one(f"SELECT changes FROM runs WHERE {_ONE}", run, id=run.id)
    assert row is not None, "a change is only published for a run that exists"
    return int(row[0])


def delete_run(tx: Tx, access: Access, run_id: str) -> bool:
    """Delete a run with its calls, artifacts and steps; False when there was none."""
    return tx.run(f"DELETE FROM runs WHERE {_ONE}", access, id=run_id) > 0


def release_sender(tx: Tx, access: Access, run: Run, sender_id: str) -> None:
    """Give a run another sender id, so that its own can be used again."""
    sql = "UPDATE runs SET sender_id = :sender_id WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=run.id, sender_id=sender_id)


def attached_to_runs(tx: Tx, access: Access, key: str) -> list[str]:
    """Return the ids of all files that came with the runs of a lane, started or not."""
    rows = tx.all(f"SELECT attachment_ids FROM runs WHERE {_OF_LANE} AND attachment_ids <> '[]'", access, key=key)
    return [name for row in rows for name in _ids(row[0])]


def delete_runs_of_lane(tx: Tx, access: Access, key: str) -> int:
    """Delete every run of a lane with its calls, artifacts and steps; none may be running."""
    return tx.run(f"DELETE FROM runs WHERE {_OF_LANE}", access, key=key)


def keep_extras(tx: Tx, access: Access, run_id: str, extras: TurnExtras) -> None:
    """Store what a run's sender adds to its turn, replacing earlier extras."""
    sql = (
        "INSERT INTO turn_extras (account_id, run_id, body) VALUES (:account, :run_id, :body) "
        "ON CONFLICT (account_id, run_id) DO UPDATE SET body = :body"
    )
    tx.run(sql, access, run_id=run_id, body=_EXTRAS.encode(extras))
    tx.run("UPDATE runs SET extras = 1 WHERE account_id = :account AND id = :id AND extras = 0", access, id=run_id)


def extras_of(tx: Tx, access: Access, run_id: str) -> TurnExtras:
    """Return what a run's sender adds to its turn."""
    sql = "SELECT body FROM turn_extras WHERE account_id = :account AND run_id = :run_id"
    row = tx.one(sql, access, run_id=run_id)
    return TurnExtras() if row is None else _EXTRAS.decode(row[0])

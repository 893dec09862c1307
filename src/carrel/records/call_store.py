"""The SQL of a run's tool calls: each is recorded with its effect, so that none is ever made twice."""

from msgspec import Struct

from carrel.kernel import Access
from carrel.storage import Tx


def outside_call(name: str) -> str:
    """The id of a call that is made from outside of its run's turn; the turn's own begin with a step's number."""
    return f"outside:{name}"


class Call(Struct, frozen=True):
    """A recorded call; while it waits for another run its result is empty."""

    tool: str
    result: str
    waits_for: str | None
    waits_until: int | None


def call_of(tx: Tx, access: Access, run_id: str, call_id: str) -> Call | None:
    """What is recorded of a call; None when it was not made."""
    row = tx.one(
        "SELECT tool, result, waits_for, waits_until FROM calls WHERE account_id = :account AND run_id = :run_id "
        "AND call_id = :call_id",
        account=access.account_id,
        run_id=run_id,
        call_id=call_id,
    )
    return None if row is None else Call(*row)


def record_call(tx: Tx, access: Access, run_id: str, call_id: str, *, tool: str, effect: str, result: str,
                wait: tuple[str, int] | None = None) -> None:  # fmt: skip
    """Remember a call with its answer, or with (the run, the moment) it waits for, in the transaction of its effect."""
    waits_for, waits_until = wait or (None, None)
    tx.run(
        "INSERT INTO calls (account_id, run_id, call_id, tool, effect, result, waits_for, waits_until, called_at) "
        "VALUES (:account, :run_id, :call_id, :tool, :effect, :result, :waits_for, :waits_until, :now)",
        account=access.account_id,
        run_id=run_id,
        call_id=call_id,
        tool=tool,
        effect=effect,
        result=result,
        waits_for=waits_for,
        waits_until=waits_until,
        now=tx.now,
    )


def finish_call(tx: Tx, access: Access, run_id: str, call_id: str, result: str) -> None:
    """Give a call that has waited its result."""
    tx.run(
        "UPDATE calls SET result = :result, waits_for = NULL, waits_until = NULL WHERE account_id = :account AND "
        "run_id = :run_id AND call_id = :call_id",
        account=access.account_id,
        run_id=run_id,
        call_id=call_id,
        result=result,
    )


def tools_called(tx: Tx, access: Access, run_id: str) -> list[str]:
    """The names of the tools a run has called, in order, each once."""
    rows = tx.all(
        "SELECT tool FROM calls WHERE account_id = :account AND run_id = :run_id ORDER BY called_at, call_id",
        account=access.account_id,
        run_id=run_id,
    )
    return list(dict.fromkeys(row[0] for row in rows))


def has_written(tx: Tx, access: Access, run_id: str) -> bool:
    """True when a run has made a call that changed something."""
    row = tx.one(
        "SELECT 1 FROM calls WHERE account_id = :account AND run_id = :run_id AND effect = 'write' LIMIT 1",
        account=access.account_id,
        run_id=run_id,
    )
    return row is not None


def wrote_from_outside(tx: Tx, access: Access, run_id: str, since: int) -> bool:
    """True when a call from outside of a run's turn has changed something since a moment."""
    row = tx.one(
        "SELECT 1 FROM calls WHERE account_id = :account AND run_id = :run_id AND effect = 'write' "
        "AND call_id LIKE :outside AND called_at >= :since LIMIT 1",
        account=access.account_id,
        run_id=run_id,
        outside=outside_call("%"),
        since=since,
    )
    return row is not None


def is_waiting(tx: Tx, access: Access, run_id: str) -> bool:
    """True when a turn stands between two steps, in a call of its own that still waits for another run.

    One from outside comes in the middle of a step, and whoever made it does not wait on.
    """
    row = tx.one(
        "SELECT 1 FROM calls WHERE account_id = :account AND run_id = :run_id AND waits_for IS NOT NULL "
        "AND call_id NOT LIKE :outside LIMIT 1",
        account=access.account_id,
        run_id=run_id,
        outside=outside_call("%"),
    )
    return row is not None

"""The state machine of runs: every statement that sets a state makes only moves that MOVES has."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from msgspec import structs

from carrel.kernel import Code, Refusal
from carrel.runs import Claim, queue_store, steering_message_store, store
from carrel.runs.model import ENDS, MOVES, require_move, states_before
from carrel.storage import Tx
from tests.harness.engine import LEASE_MS, lane_key, open_engine
from tests.house.source import house_sources

Statement = Callable[[Tx, Claim], object]


def start(tx: Tx, run: Claim) -> None:
    queue_store.start(tx, [run], "worker-1", tx.now + LEASE_MS)


def start_stale(tx: Tx, run: Claim) -> None:
    start(tx, structs.replace(run, state="queued"))


def end_claimed(tx: Tx, run: Claim, state: str) -> None:
    store.end_claimed(
        tx, run, state=state, reason=None, reply=None, note=None, error_code=None, error_message=None, usage=None,
        changes=1,
    )  # fmt: skip


def end_unclaimed(tx: Tx, run: Claim, state: str) -> None:
    store.end_unclaimed(tx, run.access, run.id, state=state, reason="stopped")


def park(tx: Tx, run: Claim) -> None:
    store.park_claimed(tx, run, waiting_for="input", question="Which one?", usage=None)


def back_to_head(tx: Tx, run: Claim) -> None:
    store.back_to_head(tx, run, due_at=tx.now, error_code=None, error_message=None)


def requeue(tx: Tx, run: Claim) -> None:
    store.requeue_waiting(tx, run.access, run.id, head=True)


def join(tx: Tx, run: Claim) -> None:
    message = store.run_by_id(tx, run.access, run.id)
    assert message is not None
    steering_message_store.join(tx, run.access, message, message)


# Each statement, the state it sets, and the states from which it may.
STATEMENTS: list[tuple[Statement, str, tuple[str, ...]]] = [
    (start, "running", ("queued",)),
    (start_stale, "running", ("queued",)),
    (park, "waiting", ("running",)),
    (back_to_head, "queued", ("running",)),
    (requeue, "queued", ("waiting",)),
    (join, "completed", ("queued",)),
    *((partial(end_claimed, state=end), end, ("running",)) for end in ENDS),
    *((partial(end_unclaimed, state=end), end, states_before(end)) for end in ENDS),
    *((partial(end, state=state), state, ()) for end in (end_claimed, end_unclaimed) for state in MOVES.keys() - ENDS),
]


def put_into(tx: Tx, run: Claim, state: str) -> None:
    """Set a run's state by hand; its claim holds, so that only the state can keep a statement from matching."""
    sql = (
        "UPDATE runs SET state = :state, due_at = NULL, claim_no = 1, worker = 'worker-1', lease_until = :until "
        "WHERE account_id = :account AND id = :id"
    )
    tx.run(sql, run, id=run.id, state=state, until=tx.now + LEASE_MS)


def attempt(tx: Tx, statement: Statement, run: Claim) -> None:
    # What it wrote before it refused is committed, so that a rollback cannot hide it.
    with suppress(AssertionError, KeyError, Refusal):
        statement(tx, run)


async def test_no_statement_makes_a_move_that_the_table_does_not_have(store_url: str) -> None:
    made: set[tuple[str, str]] = set()
    async with open_engine(store_url) as engine:
        for n, (statement, after, allowed) in enumerate(STATEMENTS):
            for before in MOVES:
                said = await engine.say(lane_key(f"{n}-{before}"), "hello")
                await engine.db.write(partial(put_into, run=said, state=before))
                seen = await engine.run(said.id)
                await engine.db.write(partial(attempt, statement=statement, run=seen))
                found = await engine.run(said.id)
                if before in allowed:
                    assert found.state == after
                    made.add((before, after))
                else:
                    assert found == seen, f"statement {n} changed a run that was {before}"
    assert made == {(before, after) for before, onward in MOVES.items() for after in onward}


@pytest.mark.parametrize("before", MOVES)
@pytest.mark.parametrize("after", MOVES)
def test_a_move_is_refused_unless_the_table_has_it(before: str, after: str) -> None:
    assert (before in states_before(after)) == (after in MOVES[before])
    if after in MOVES[before]:
        require_move(before, after)
        assert f"'{before}'" in store.may_move(before, to=after)
        return
    for move in (lambda: require_move(before, after), lambda: store.may_move(before, to=after)):
        with pytest.raises(Refusal) as refused:
            move()
        assert refused.value.code == (Code.ALREADY_ENDED if before in ENDS else Code.CONFLICT)


def test_every_statement_that_sets_a_state_says_from_which() -> None:
    sources = {source.path: source.text for source in house_sources() if "UPDATE runs SET state" in source.text}
    stores = ("store", "queue_store", "steering_message_store")
    assert sources.keys() == {f"src/carrel/runs/{name}.py" for name in stores}
    for text in sources.values():
        assert text.count("UPDATE runs SET state") == text.count("AND {may_move(")

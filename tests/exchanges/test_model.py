"""The state machines of an exchange: no move that its tables do not have is made, or written."""

from functools import partial

import pytest
from msgspec import structs

from carrel.exchanges import Exchange, begin_exchange, keep_exchange, moved
from carrel.exchanges.model import MOVES, STEPS
from carrel.exchanges.store import hold_exchange
from carrel.kernel import Code, Refusal
from carrel.storage import Tx
from tests.harness.engine import Engine, lane_key

EXCHANGE = Exchange(
    account_id="acc", id="exc_1", kind="send", requester_key="agent:main:main", target_key="agent:main:hook:target",
    first_run_id="run_1", created_at=0,
)  # fmt: skip


@pytest.mark.parametrize("before", MOVES)
@pytest.mark.parametrize("after", MOVES)
def test_an_exchange_changes_its_state_only_as_the_table_says(before: str, after: str) -> None:
    exchange = structs.replace(EXCHANGE, state=before)
    if after in MOVES[before]:
        assert moved(exchange, state=after, attempts=2) == structs.replace(exchange, state=after, attempts=2)
        return
    with pytest.raises(Refusal) as refused:
        moved(exchange, state=after)
    assert refused.value.code == Code.CONFLICT


@pytest.mark.parametrize("before", STEPS)
@pytest.mark.parametrize("after", STEPS)
def test_an_exchange_changes_its_step_only_as_the_table_says(before: str, after: str) -> None:
    exchange = structs.replace(EXCHANGE, step=before)
    if after in STEPS[before]:
        assert moved(exchange, step=after) == structs.replace(exchange, step=after)
        return
    with pytest.raises(Refusal) as refused:
        moved(exchange, step=after)
    assert refused.value.code == Code.CONFLICT


@pytest.mark.parametrize("state", [state for state, onward in MOVES.items() if not onward])
def test_an_ended_exchange_does_not_change(state: str) -> None:
    with pytest.raises(Refusal):
        moved(structs.replace(EXCHANGE, state=state), attempts=2)


async def test_a_move_that_is_not_in_the_table_is_not_written(engine: Engine) -> None:
    for before in MOVES:
        for after in MOVES:
            kept = await begun(engine, before, lane=f"{before}-{after}")
            wanted = structs.replace(kept, state=after, attempts=7)
            await engine.db.write(partial(keep_exchange, access=engine.access, exchange=wanted))
            found = await engine.db.read(partial(hold_exchange, access=engine.access, exchange_id=kept.id))
            assert found == (wanted if after in MOVES[before] else kept)


async def begun(engine: Engine, state: str, *, lane: str) -> Exchange:
    """Begin an exchange in that state after a run of a lane of its own."""
    run = await engine.say(lane_key(lane), "hello")

    def write(tx: Tx) -> Exchange:
        names = {"id": tx.new_id("exc"), "first_run_id": run.id, "account_id": run.account_id}
        exchange = structs.replace(EXCHANGE, state=state, **names)
        begin_exchange(tx, engine.access, exchange)
        return exchange

    return await engine.db.write(write)

"""A room that reacts to runs is added without touching any file below it: here one is, inside the test.

It is put together as the real ones are: functions that observe, registered on the open store. What it does happens in
the transaction of the change.
"""

import pytest

from carrel.kernel import Envelope, Message, Provenance
from carrel.runs import Completed, Rules, RunChanged, deliver
from carrel.runs.outcomes import settle
from carrel.storage import Database, Tx
from tests.harness.engine import MAIN, Engine, lane_key

NOTICES = lane_key("notices")


class Wrong(Exception):
    """An error of the work itself."""


class Room:
    """Keeps a ledger of every change, and sends a notice to a lane of its own when a run of another lane completed."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.fails_at = ""

    def observe_runs(self, db: Database) -> None:
        """Register with the store, as main does it for the rooms there are."""
        db.observe(RunChanged, self.note)
        db.observe(RunChanged, self.send_notice)

    def note(self, tx: Tx, changed: RunChanged) -> None:
        self.called.append(f"note {changed.state}")
        tx.run("INSERT INTO ledger VALUES (:run_id, :state)", run_id=changed.run.id, state=changed.state)

    def send_notice(self, tx: Tx, changed: RunChanged) -> None:
        self.called.append(f"send {changed.state}")
        if changed.state == self.fails_at:
            raise Wrong(changed.state)
        if changed.state == "completed" and changed.run.key != str(NOTICES):
            notice = Message(text=f"{changed.run.id} is done", provenance=Provenance(kind="internal_system"))
            deliver(tx, changed.run.access, Envelope(key=NOTICES, message=notice), Rules())


@pytest.fixture
async def observed(engine: Engine) -> Engine:
    await engine.db.write(lambda tx: tx.run("CREATE TABLE ledger (run_id TEXT NOT NULL, state TEXT NOT NULL)"))
    return engine


@pytest.fixture
def room(engine: Engine) -> Room:
    made = Room()
    made.observe_runs(engine.db)
    return made


async def ledger(engine: Engine, run_id: str) -> list[str]:
    """Return the states that the room noted of a run."""
    rows = await engine.read(lambda tx: tx.all("SELECT run_id, state FROM ledger"))
    return [state for noted, state in rows if noted == run_id]


async def test_a_new_room_sees_every_change_and_acts_in_its_transaction(observed: Engine, room: Room) -> None:
    run = await observed.say(MAIN, "hello")
    assert await ledger(observed, run.id) == ["queued"]
    await observed.end(await observed.take_one(), Completed(reply="done"))
    assert await ledger(observed, run.id) == ["queued", "running", "completed"]
    (notice,) = await observed.runs(NOTICES)
    assert (notice.state, notice.text) == ("queued", f"{run.id} is done")
    assert await ledger(observed, notice.id) == ["queued"], "it observes what it does itself, as others do"


async def test_what_a_room_did_is_undone_with_the_change(observed: Engine, room: Room) -> None:
    run = await observed.say(MAIN, "hello")
    held = await observed.take_one()

    def end_and_break(tx: Tx) -> None:
        settle(tx, held, Completed(reply="done"))
        raise Wrong

    with pytest.raises(Wrong):
        await observed.db.write(end_and_break)
    assert (await observed.run(run)).state == "running"
    assert await ledger(observed, run.id) == ["queued", "running"]
    assert await observed.runs(NOTICES) == []


async def test_observers_are_called_in_the_order_they_were_registered(observed: Engine, room: Room) -> None:
    observed.db.observe(RunChanged, lambda _tx, changed: room.called.append(f"late {changed.state}"))
    await observed.say(MAIN, "hello")
    assert room.called == ["note queued", "send queued", "late queued"]


async def test_an_observer_that_raises_undoes_the_change(observed: Engine, room: Room) -> None:
    run = await observed.say(MAIN, "hello")
    held = await observed.take_one()
    room.fails_at = "completed"
    with pytest.raises(Wrong):
        await observed.end(held)
    assert (await observed.run(run)).state == "running"
    assert await ledger(observed, run.id) == ["queued", "running"], "what observers before it did is undone too"
    room.fails_at = ""
    await observed.end(held)
    assert (await observed.run(run)).state == "completed"

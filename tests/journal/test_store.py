"""Entries keep their order, and the feed can be followed from a cursor without gaps."""

from carrel.journal import NewEntry, append_entry, entries_of_run, entries_of_session
from carrel.journal.store import entries_since
from carrel.kernel import Provenance
from tests.harness.engine import MAIN, Engine
from tests.requirements.mark import requirement

PERSON = Provenance(kind="external_user", actor="usr_1")


def line(text: str, **more: object) -> NewEntry:
    return NewEntry(type="conversation", role="user", content=text, author="user", provenance=PERSON, **more)  # type: ignore[arg-type]


@requirement("S4.x.order.stable")
async def test_entries_of_the_same_moment_keep_their_order_everywhere(engine: Engine) -> None:
    held = (await engine.say(MAIN, "go"), await engine.take_one())[1]
    await engine.start_turn(held)
    session_id = (await engine.run(held.id)).session_id
    said = [f"line {n}" for n in range(30)]
    for text in said:
        entry = line(text, key=held.key, session_id=session_id, run_id=held.id)
        await engine.db.write(lambda tx, entry=entry: append_entry(tx, engine.access, entry))  # type: ignore[misc]
    assert session_id is not None
    by_session = await engine.db.read(lambda tx: entries_of_session(tx, engine.access, session_id, limit=100))
    by_run = await engine.db.read(lambda tx: entries_of_run(tx, engine.access, held.id))
    since = await engine.db.read(lambda tx: entries_since(tx, engine.access, 0, limit=100))
    assert len({entry.created_at for entry in by_session}) == 1
    for found in (by_session, by_run, since):
        assert [entry.content for entry in found] == said
    paged = await engine.db.read(
        lambda tx: entries_of_session(tx, engine.access, session_id, limit=10, before=by_session[20].seq)
    )
    assert [entry.content for entry in paged] == said[10:20]


async def test_an_entry_is_read_back_as_it_was_written(engine: Engine) -> None:
    new = line("hello", details={"step": 1, "ä": [None]}, message_id="m-1", channel="web", attachment_ids=("att_1",))
    written = await engine.db.write(lambda tx: append_entry(tx, engine.access, new))
    (found,) = await engine.db.read(lambda tx: entries_since(tx, engine.access, 0, limit=2))
    assert found == written
    assert (found.details, found.provenance) == ({"step": 1, "ä": [None]}, PERSON)

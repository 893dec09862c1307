"""Files of messages: kept exactly as long as their message."""

from carrel.journal import NewEntry, append_entry
from carrel.kernel import Envelope, Message, NewAttachment, Provenance, SessionKey
from carrel.kernel.settings import RunsSettings, SessionsSettings, Settings
from carrel.records import attachment_heads
from carrel.runs import Run, bind_session, deliver, fence, remove_lane, run_by_id
from carrel.runs.pruner import prune
from carrel.sessions import close_generation, lane_of, open_generation
from carrel.storage import Tx
from tests.harness.engine import Engine, lane_key

KEY = lane_key("files")
PERSON = Provenance(kind="external_user")
DAYS_31, DAYS_91 = 31 * 86_400.0, 91 * 86_400.0
KEPT = Settings(runs=RunsSettings(retention_days=30), sessions=SessionsSettings(closed_retention_days=90))


async def say_with_file(engine: Engine, key: SessionKey = KEY) -> Run:
    file = NewAttachment(name="a.txt", mime_type="text/plain", content=b"secret words")
    said = Envelope(key=key, message=Message(text="look", provenance=PERSON, attachments=(file,)))
    return await engine.db.write(lambda tx: deliver(tx, engine.access, said, engine.rules))


async def hear_and_end(engine: Engine, run: Run) -> None:
    """Write the run's message as an entry, as a turn does, and end the turn."""
    held = await engine.take_one()

    def work(tx: Tx) -> None:
        fence(tx, held)
        session = open_generation(tx, held.access, held.session_key)
        bind_session(tx, held, session.id, session.generation)
        said = NewEntry(
            type="conversation", role="user", content=run.text, author="user", provenance=PERSON, key=run.key,
            session_id=session.id, run_id=run.id, agent_id=run.agent_id, attachment_ids=run.attached(),
        )  # fmt: skip
        append_entry(tx, held.access, said)

    await engine.db.write(work)
    await engine.end(held)


async def has_file(engine: Engine, run: Run) -> bool:
    return bool(await engine.db.read(lambda tx: attachment_heads(tx, engine.access, run.attached())))


async def is_kept(engine: Engine, run: Run) -> bool:
    return await engine.db.read(lambda tx: run_by_id(tx, engine.access, run.id)) is not None


async def prune_all(engine: Engine) -> None:
    while await engine.db.write(lambda tx: prune(tx, KEPT)):
        pass


async def delete(engine: Engine, key: SessionKey) -> None:
    lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, key))
    assert lane is not None
    assert await engine.db.write(lambda tx: remove_lane(tx, engine.access, lane)) is None


async def test_a_file_of_an_entry_outlives_its_run_and_is_deleted_with_its_generation(engine: Engine) -> None:
    run = await say_with_file(engine)
    await hear_and_end(engine, run)
    await engine.db.write(lambda tx: close_generation(tx, engine.access, KEY, "reset"))
    engine.advance(DAYS_31)
    await prune_all(engine)
    assert (await is_kept(engine, run), await has_file(engine, run)) == (False, True)
    engine.advance(DAYS_91)
    await prune_all(engine)
    assert not await has_file(engine, run)


async def test_a_file_of_a_run_that_never_started_is_deleted_with_the_run(engine: Engine) -> None:
    run = await say_with_file(engine)
    await engine.cancel(run.id)
    await prune_all(engine)
    assert await has_file(engine, run)
    engine.advance(DAYS_31)
    await prune_all(engine)
    assert (await is_kept(engine, run), await has_file(engine, run)) == (False, False)


async def test_a_deleted_session_leaves_no_file_behind_even_of_pruned_runs(engine: Engine) -> None:
    old = await say_with_file(engine)
    await hear_and_end(engine, old)
    engine.advance(DAYS_31)
    await prune_all(engine)
    waiting, elsewhere = await say_with_file(engine), await say_with_file(engine, lane_key("other"))
    await delete(engine, KEY)
    assert not await has_file(engine, old)
    assert not await has_file(engine, waiting)
    assert await has_file(engine, elsewhere)

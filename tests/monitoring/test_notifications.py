"""A failed run notifies the owners and the person who sent the message; other runs notify nobody."""

from msgspec import structs

from carrel.access import make_user
from carrel.agents import change_account
from carrel.kernel import Access
from carrel.notifications import OWNERS, newest_notifications
from carrel.notifications.model import Notification
from carrel.runs import Failed, Outcome, Run
from carrel.runs.model import Cancelled
from tests.harness.engine import DONE, MAIN, Engine, open_engine

BROKEN = Failed(code="gateway_error", message="The printer has no paper.")


async def person(engine: Engine, name: str) -> Access:
    user = await engine.db.write(
        lambda tx: make_user(tx, engine.access, name=name, slug=name, email=None, role="member")
    )
    return structs.replace(engine.access, kind="user", actor_id=user.id, user_id=user.id)


async def ended(engine: Engine, text: str, outcome: Outcome, access: Access | None = None) -> Run:
    await engine.say(MAIN, text, access=access)
    held = await engine.take_one()
    await engine.start_turn(held)
    await engine.end(held, outcome)
    return await engine.run(held.id)


async def told(engine: Engine, recipient: str = OWNERS) -> list[Notification]:
    return await engine.db.read(lambda tx: newest_notifications(tx, engine.access, recipient, limit=50))


async def test_a_failed_run_notifies_the_owners_and_its_sender(engine: Engine) -> None:
    ada, ben = await person(engine, "ada"), await person(engine, "ben")
    run = await ended(engine, "Print\nthe list", BROKEN, ada)
    (to_owners,) = await told(engine)
    (to_ada,) = await told(engine, ada.actor_id)
    assert await told(engine, ben.actor_id) == []
    assert (to_owners.type, to_owners.title) == ("run_failed", "Main failed: Print the list")
    assert to_owners.body == "The printer has no paper."
    assert (to_owners.run_id, to_owners.session_id, to_owners.key) == (run.id, run.session_id, run.key)
    assert to_owners.entry_id == run.message_id
    assert to_ada.title == to_owners.title
    assert to_ada.id != to_owners.id


async def test_a_failed_run_of_a_program_or_a_deleted_user_notifies_only_the_owners(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        gone = structs.replace(engine.access, kind="user", actor_id="usr_gone", user_id="usr_gone")
        await ended(engine, "hello", BROKEN, gone)
        assert len(await told(engine)) == 1
        assert await told(engine, "usr_gone") == []


async def test_a_run_that_completes_is_cancelled_or_retried_notifies_nobody(engine: Engine) -> None:
    await ended(engine, "one", DONE)
    await ended(engine, "two", Cancelled(reason="stopped"))
    await ended(engine, "three", structs.replace(BROKEN, retryable=True))
    assert await told(engine) == []


async def test_a_run_that_fails_without_a_worker_notifies_too(engine: Engine) -> None:
    run = await engine.say(MAIN, "hello")
    for _ in range(run.attempts_max):
        await engine.take_one()
        engine.advance(120)
        await engine.rescue()
    (notice,) = await told(engine)
    assert (notice.run_id, notice.session_id, notice.entry_id) == (run.id, None, None)
    assert "lost" in notice.body


async def test_a_declined_run_says_so_and_titles_are_redacted(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        declined = Failed(code="rejected", message="Not today.", reason="rejected")
        await ended(engine, "use crl_owner_abc_0123456789abcdef and " + "word " * 100, declined)
        (notice,) = await told(engine)
        assert notice.title.startswith("Main declined: use [redacted] and word")
        assert len(notice.title) < 120


async def test_an_account_can_turn_the_notification_off(engine: Engine) -> None:
    quiet = {"notificationPreferences": {"run_failed": False, "run_undelivered": True}}
    await engine.db.write(lambda tx: change_account(tx, engine.access, None, quiet))
    await ended(engine, "hello", BROKEN)
    assert await told(engine) == []
    loud = {"notificationPreferences": {"run_failed": None}}
    await engine.db.write(lambda tx: change_account(tx, engine.access, None, loud))
    await ended(engine, "hello", BROKEN)
    assert len(await told(engine)) == 1

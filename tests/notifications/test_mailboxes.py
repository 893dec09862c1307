"""Mailboxes: newest first, read once, limited in size; an event about one is only for its reader."""

from functools import partial

import pytest
from msgspec import structs

from carrel.journal import Event, events_after
from carrel.kernel import MS_PER_DAY, Access, Refusal
from carrel.kernel.limits import NOTIFICATIONS_READ_AT_A_TIME
from carrel.notifications import (
    OWNERS,
    NewNotification,
    count_unread,
    forget_mailbox,
    newest_notifications,
    notify,
    prune_notifications,
    read_notification,
    read_oldest_notifications,
)
from carrel.notifications.model import Notification
from carrel.storage import Tx
from carrel.visibility import visible_events
from tests.harness.engine import Engine

ADA = "usr_ada"


async def tell(engine: Engine, *titles: str, recipients: tuple[str, ...] = (OWNERS,)) -> None:
    def work(tx: Tx) -> None:
        for title in titles:
            new = NewNotification(type="run_failed", title=title, body="", key="agent:main:main", run_id="run_1")
            notify(tx, engine.access, recipients, new)

    await engine.db.write(work)


async def mailbox(engine: Engine, recipient: str = OWNERS, access: Access | None = None) -> list[Notification]:
    asking = access or engine.access
    return await engine.db.read(lambda tx: newest_notifications(tx, asking, recipient, limit=5_000))


async def unread(engine: Engine, recipient: str = OWNERS) -> int:
    return await engine.db.read(lambda tx: count_unread(tx, engine.access, recipient))


async def events(engine: Engine, name: str) -> list[Event]:
    told = await engine.db.read(lambda tx: events_after(tx, engine.access, 0, limit=5_000))
    return [event for event in told if event.name == name]


async def test_a_mailbox_is_read_newest_first_page_by_page(engine: Engine) -> None:
    await tell(engine, "one", "two", "three")
    await tell(engine, "of another", recipients=(ADA,))
    first = await engine.db.read(lambda tx: newest_notifications(tx, engine.access, OWNERS, limit=2))
    assert [told.title for told in first] == ["three", "two"]
    before = first[-1].id
    rest = await engine.db.read(lambda tx: newest_notifications(tx, engine.access, OWNERS, limit=2, before=before))
    assert [told.title for told in rest] == ["one"]
    assert await mailbox(engine, access=await engine.another_account("acme")) == []


async def test_a_notification_is_read_once_and_only_by_its_recipient(engine: Engine) -> None:
    await tell(engine, "broken", recipients=(OWNERS, ADA))
    (owners,) = await mailbox(engine)
    reading = engine.access
    marked = await engine.db.write(lambda tx: read_notification(tx, reading, OWNERS, owners.id))
    engine.advance(60)
    again = await engine.db.write(lambda tx: read_notification(tx, reading, OWNERS, owners.id))
    assert marked.read_at is not None
    assert again == marked, "what is read stays as it is"
    assert (await unread(engine), await unread(engine, ADA)) == (0, 1)
    assert [event.recipient for event in await events(engine, "notification.read")] == [OWNERS]
    for recipient, of_account in ((ADA, reading), (OWNERS, await engine.another_account("acme"))):
        with pytest.raises(Refusal):
            await engine.db.write(
                lambda tx, to=recipient, by=of_account: read_notification(tx, by, to, owners.id)  # type: ignore[misc]
            )


async def test_all_are_marked_as_read_in_batches_with_an_event_each(engine: Engine) -> None:
    titles = [f"n{number}" for number in range(NOTIFICATIONS_READ_AT_A_TIME + 1)]
    await tell(engine, *titles)
    await tell(engine, "of another", recipients=(ADA,))
    reading = engine.access
    steps = [await engine.db.write(lambda tx: read_oldest_notifications(tx, reading, OWNERS)) for _ in range(3)]
    assert steps == [(NOTIFICATIONS_READ_AT_A_TIME, True), (1, False), (0, False)]
    assert (await unread(engine), await unread(engine, ADA)) == (0, 1)
    assert len(await events(engine, "notification.read")) == len(titles)
    left = await engine.db.read(lambda tx: newest_notifications(tx, engine.access, OWNERS, limit=9, unread=True))
    assert left == []


async def test_a_mailbox_keeps_its_newest_and_nothing_expired(engine: Engine) -> None:
    await tell(engine, "old")
    engine.advance(2 * 86_400)
    await tell(engine, *(f"n{number}" for number in range(7)))
    await tell(engine, "of another", recipients=(ADA,))

    def prune(tx: Tx) -> int:
        return prune_notifications(tx, engine.access, tx.now - MS_PER_DAY, keep=3, limit=2)

    removed = [await engine.db.write(prune) for _ in range(4)]
    assert removed == [3, 2, 0, 0], "a bounded handful at a go"
    assert [told.title for told in await mailbox(engine)] == ["n6", "n5", "n4"]
    assert len(await mailbox(engine, ADA)) == 1
    await engine.db.write(lambda tx: forget_mailbox(tx, engine.access, ADA))
    assert await mailbox(engine, ADA) == []


async def test_an_event_about_a_mailbox_is_for_its_reader_alone(engine: Engine) -> None:
    await tell(engine, "broken", recipients=(ADA,))
    told = await events(engine, "notification.created")
    for kind, user_id, seen in (("user", ADA, 1), ("user", "usr_other", 0), ("owner", None, 0), ("agent", None, 0)):
        access = structs.replace(engine.access, kind=kind, user_id=user_id, agent_id="main")
        assert len(await engine.read(partial(visible_events, access=access, events=told))) == seen, kind

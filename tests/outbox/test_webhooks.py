"""Webhooks about a run's changes: their progress, leases and retries."""

import asyncio
import threading
from functools import partial

import pytest

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import (
    RETRY_MAX_SECONDS,
    WEBHOOK_LEASE_SECONDS,
    WEBHOOKS_PER_HOST_AT_A_TIME,
    WEBHOOKS_PER_RUN_MAX,
)
from carrel.outbox import (
    Webhook,
    WebhookAddress,
    delete_webhook,
    next_webhook_due,
    release_webhooks,
    saturated_hosts,
    save_webhook,
    take_webhooks,
    webhook_by_id,
    webhook_failed,
    webhook_sent,
    webhooks_of_run,
)
from carrel.outbox.webhook_store import WEBHOOKS
from carrel.runs import Claim, Run
from carrel.runs.outcomes import settle
from carrel.runs.store import delete_run
from carrel.storage import Tx
from tests.harness.engine import DONE, Engine, lane_key, open_engine, within
from tests.requirements.mark import requirement

ADDRESS = WebhookAddress(
    url="https://receiver.test/hook?x=1", host="receiver.test:443", token="t", scheme="Bearer", credentials="c"
)
ATTEMPTS_MAX = 4
# How long the race is provoked; a missed change would show at once.
SLIP_SECONDS = 0.3


def at(host: str) -> WebhookAddress:
    return WebhookAddress(url=f"https://{host}/hook", host=f"{host}:443")


async def told(engine: Engine, name: str = "one") -> Run:
    """Create a run that came over A2A."""
    return await engine.say(lane_key(name), "hello", kind="a2a")


async def keep(
    engine: Engine, run: Run, webhook_id: str = "w", address: WebhookAddress = ADDRESS, after: int | None = None
) -> Webhook:
    return await engine.db.write(
        lambda tx: save_webhook(tx, engine.access, run.id, webhook_id, address, after=after)
    )  # fmt: skip


async def take(engine: Engine, limit: int = 50, **busy: int) -> list[Webhook]:
    at_work = {f"{host}.test:443": count for host, count in busy.items()}
    return await engine.db.write(lambda tx: take_webhooks(tx, at_work, limit))


async def take_one(engine: Engine) -> Webhook:
    (webhook,) = await take(engine)
    return webhook


async def note(engine: Engine, webhook: Webhook, change: int) -> Webhook | None:
    return await engine.db.write(lambda tx: webhook_sent(tx, webhook, change))


async def fail(engine: Engine, webhook: Webhook, reason: str = "no answer") -> str:
    return await engine.db.write(lambda tx: webhook_failed(tx, webhook, reason, ATTEMPTS_MAX))


async def stored(engine: Engine, run: Run, webhook_id: str = "w") -> Webhook:
    found = await engine.db.read(lambda tx: webhook_by_id(tx, engine.access, run.id, webhook_id))
    assert found is not None
    return found


@requirement("S1.push.deliver")
async def test_a_webhook_is_due_for_changes_after_its_creation(engine: Engine) -> None:
    run = await told(engine)
    made = await keep(engine, run)
    assert (made.sent_change, made.wanted_change, made.due_at) == (1, 1, None)
    assert await take(engine) == []
    held = await engine.take_one()
    await engine.end(held)
    due = await take_one(engine)
    # Started, the reply, and the end.
    assert (due.sent_change, due.wanted_change, due.credentials) == (1, 4, "c")
    for change in (2, 3):
        more = await note(engine, due, change)
        assert more is not None
        assert more.sent_change == change
    assert await note(engine, due, 4) is None
    rested = await stored(engine, run)
    assert (rested.sent_change, rested.due_at, rested.claim) == (4, None, None)


@requirement("S1.push.deliver")
async def test_a_webhook_that_came_with_the_message_gets_all_changes(engine: Engine) -> None:
    run = await told(engine)
    bell = engine.db.bell(WEBHOOKS)
    version = bell.version
    await keep(engine, run, after=0)
    await within(bell.wait(version, 10))
    assert bell.version > version
    assert (await take_one(engine)).sent_change == 0


async def test_a_change_rings_the_bell_only_if_there_is_a_webhook(engine: Engine) -> None:
    run, _ = await told(engine, "with"), await told(engine, "without")
    await keep(engine, run)
    first, second = await engine.take(2)
    with_one, without = (first, second) if first.id == run.id else (second, first)
    woken: list[int] = []

    def ending(tx: Tx, held: Claim) -> None:
        settle(tx, held, DONE)
        woken.append(tx.woken[WEBHOOKS])

    for held in (without, with_one):
        await engine.db.write(partial(ending, held=held))
    assert woken == [0, 1]


@requirement("S1.push.deliver")
async def test_a_change_while_a_webhook_is_being_sent_is_not_lost(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    webhook = await take_one(engine)
    held = await engine.take_one()
    more = await note(engine, webhook, 1)
    assert more is not None
    assert (more.sent_change, more.wanted_change) == (1, 2)
    assert await note(engine, more, 2) is None
    await engine.end(held)
    assert (await take_one(engine)).sent_change == 2


@requirement("S1.push.deliver")
async def test_a_webhook_is_leased_and_a_lost_lease_records_nothing(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    lost = await take_one(engine)
    engine.advance(WEBHOOK_LEASE_SECONDS - 1)
    assert await take(engine) == []
    engine.advance(1)
    again = await take_one(engine)
    assert again.sent_change == 0
    assert await note(engine, lost, 1) is None
    assert await fail(engine, lost) == "lost"
    unchanged = await stored(engine, run)
    assert (unchanged.sent_change, unchanged.attempt, unchanged.claim) == (0, 0, again.claim)


async def test_every_change_sent_renews_the_lease(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    await engine.end(await engine.take_one())
    webhook: Webhook | None = await take_one(engine)
    for change in (1, 2, 3):
        engine.advance(WEBHOOK_LEASE_SECONDS - 1)
        assert await take(engine) == []
        assert webhook is not None
        webhook = await note(engine, webhook, change)
    assert webhook is not None


@requirement("S1.push.deliver")
async def test_a_failed_webhook_is_retried_with_growing_pauses_and_then_given_up(
    store_url: str,
) -> None:
    async with open_engine(store_url) as engine:
        run = await told(engine)
        await keep(engine, run, after=0)
    clock = engine.clock
    for attempt, seconds_max in ((1, 5), (2, 10), (3, 20)):
        # Reopened each time: a restart does not reset the attempts.
        async with open_engine(store_url, clock=clock) as engine:
            webhook = await take_one(engine)
            assert webhook.attempt == attempt - 1
            assert await fail(engine, webhook) == "again"
            waiting = await stored(engine, run)
            assert waiting.due_at is not None
            assert 0 < waiting.due_at - clock.now_ms() <= seconds_max * 1000 <= RETRY_MAX_SECONDS * 1000
            assert await engine.db.read(next_webhook_due) == waiting.due_at
            assert await take(engine) == []
            engine.advance(seconds_max)
    async with open_engine(store_url, clock=clock) as engine:
        assert await fail(engine, await take_one(engine), "it is gone") == "given_up"
        given_up = await stored(engine, run)
        assert (given_up.given_up, given_up.due_at, given_up.attempt) == ("it is gone", None, 4)
        await engine.end(await engine.take_one())
        assert await take(engine) == []


async def test_a_change_sent_resets_the_attempts(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    await fail(engine, await take_one(engine))
    engine.advance(5)
    await note(engine, await take_one(engine), 1)
    assert (await stored(engine, run)).attempt == 0


async def test_a_new_change_does_not_shorten_the_pause_before_a_retry(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    await fail(engine, await take_one(engine))
    due_at = (await stored(engine, run)).due_at
    await engine.take_one()
    waiting = await stored(engine, run)
    assert (waiting.due_at, waiting.wanted_change) == (due_at, 2)


@requirement("S1.push.config")
async def test_the_same_id_replaces_the_address_and_continues(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    for _ in range(ATTEMPTS_MAX):
        assert await fail(engine, await take_one(engine)) != "lost"
        engine.advance(RETRY_MAX_SECONDS)
    await engine.take_one()
    replaced = await keep(engine, run, address=at("other.test"), after=7)
    assert (replaced.sent_change, replaced.wanted_change, replaced.given_up) == (0, 2, None)
    webhook = await take_one(engine)
    assert (webhook.url, webhook.token, webhook.attempt) == ("https://other.test/hook", "", 0)
    # One that is being sent is replaced as well; its sender can record nothing more.
    await keep(engine, run)
    assert await note(engine, webhook, 2) is None
    assert (await stored(engine, run)).sent_change == 0
    assert len(await engine.db.read(lambda tx: webhooks_of_run(tx, engine.access, run.id))) == 1


@requirement("S1.push.config")
async def test_a_replaced_webhook_is_not_sent_again_what_it_had(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    await note(engine, await take_one(engine), 1)
    replaced = await keep(engine, run, address=at("other.test"), after=0)
    assert (replaced.sent_change, replaced.due_at) == (1, None)
    assert await take(engine) == []


@requirement("S1.push.config")
async def test_a_run_has_a_bounded_number_of_webhooks_and_a_full_one_can_still_replace(engine: Engine) -> None:
    run = await told(engine)
    for n in range(WEBHOOKS_PER_RUN_MAX):
        await keep(engine, run, f"w{n}")
    with pytest.raises(Refusal) as caught:
        await keep(engine, run, "one too many")
    assert caught.value.code == Code.LIMIT_REACHED
    await keep(engine, run, "w0", at("other.test"))
    assert await engine.db.write(lambda tx: delete_webhook(tx, engine.access, run.id, "w0"))
    assert not await engine.db.write(lambda tx: delete_webhook(tx, engine.access, run.id, "w0"))
    await keep(engine, run, "one too many")


async def test_a_webhook_can_be_deleted_while_it_is_being_sent(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    webhook = await take_one(engine)
    await engine.db.write(lambda tx: delete_webhook(tx, engine.access, run.id, "w"))
    assert await note(engine, webhook, 1) is None
    assert await fail(engine, webhook) == "lost"


async def test_webhooks_are_deleted_with_their_run(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run, after=0)
    await engine.end(await engine.take_one())
    await engine.db.write(lambda tx: delete_run(tx, engine.access, run.id))
    assert await take(engine) == []
    with pytest.raises(Refusal) as caught:
        await keep(engine, run)
    assert caught.value.code == Code.NOT_FOUND


@requirement("S1.push.config")
async def test_another_account_cannot_see_or_change_a_webhook(engine: Engine) -> None:
    run = await told(engine)
    await keep(engine, run)
    other = await engine.another_account("other")
    assert await engine.db.read(lambda tx: webhook_by_id(tx, other, run.id, "w")) is None
    assert await engine.db.read(lambda tx: webhooks_of_run(tx, other, run.id)) == []
    assert not await engine.db.write(lambda tx: delete_webhook(tx, other, run.id, "w"))
    with pytest.raises(Refusal):
        await engine.db.write(lambda tx: save_webhook(tx, other, run.id, "w", ADDRESS))
    assert (await stored(engine, run)).url == ADDRESS.url


@requirement("S1.push.deliver")
async def test_one_host_gets_a_bounded_number_of_webhooks_at_a_time(engine: Engine) -> None:
    slow = [await told(engine, f"slow{n}") for n in range(WEBHOOKS_PER_HOST_AT_A_TIME + 2)]
    for run in slow:
        await keep(engine, run, address=at("slow.test"), after=0)
    engine.advance(1)
    await keep(engine, await told(engine, "quick"), address=at("quick.test"), after=0)
    taken = await take(engine, len(slow))
    assert [webhook.host for webhook in taken] == ["slow.test:443"] * WEBHOOKS_PER_HOST_AT_A_TIME
    (quick,) = await take(engine, 10, slow=WEBHOOKS_PER_HOST_AT_A_TIME)
    assert quick.host == "quick.test:443"
    crowded = saturated_hosts({"slow.test:443": WEBHOOKS_PER_HOST_AT_A_TIME, "quick.test:443": 1})
    assert crowded == ["slow.test:443"]
    next_due = await engine.db.read(lambda tx: next_webhook_due(tx, but=crowded))
    assert next_due == quick.due_at
    assert len(await take(engine, 10, slow=WEBHOOKS_PER_HOST_AT_A_TIME - 1)) == 1


async def test_a_starting_server_of_a_file_releases_leases_and_keeps_pauses(engine: Engine) -> None:
    held, waiting = await told(engine, "held"), await told(engine, "waiting")
    await keep(engine, waiting, after=0)
    await fail(engine, await take_one(engine))
    await keep(engine, held, after=0)
    await take_one(engine)
    assert await engine.db.write(release_webhooks) == 1
    assert (await take_one(engine)).run_id == held.id


@requirement("S1.push.deliver")
async def test_two_servers_take_different_webhooks(engine: Engine) -> None:
    runs = [await told(engine, f"run{n}") for n in range(12)]
    for n, run in enumerate(runs):
        await keep(engine, run, address=at(f"host{n}.test"), after=0)
    taken = await asyncio.gather(*(take(engine, 5) for _ in range(4)))
    ids = [webhook.run_id for some in taken for webhook in some]
    assert len(ids) == len(set(ids))
    left = await take(engine)
    assert sorted([*ids, *(webhook.run_id for webhook in left)]) == sorted(run.id for run in runs)


@requirement("S1.push.deliver")
async def test_no_change_is_missed_while_a_webhook_is_being_created(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        run = await told(engine)
        held = await engine.take_one()
        made, ended = threading.Event(), threading.Event()

        def making(tx: Tx) -> None:
            save_webhook(tx, engine.access, run.id, "w", ADDRESS)
            made.set()
            # Looking is all the waiting there is: until the end of the run waits for this transaction, or is done.
            for _ in range(100_000):
                if ended.is_set() or tx.one("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1"):
                    break

        async def ending() -> None:
            await asyncio.to_thread(made.wait, 10)
            await engine.end(held)
            ended.set()

        await within(asyncio.gather(engine.db.write(making), ending()))
        assert (await take_one(engine)).wanted_change == (await engine.run(run.id)).changes

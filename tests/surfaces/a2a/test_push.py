"""Webhooks are told of every change of their task, in order and at least once, and nobody waits for them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from carrel.kernel import METRICS, Envelope, Message, Provenance
from carrel.kernel.limits import RETRY_MAX_SECONDS, WEBHOOK_LEASE_SECONDS, WEBHOOKS_PER_HOST_AT_A_TIME
from carrel.kernel.settings import A2aPushSettings
from carrel.outbox import Webhook, WebhookAddress, save_webhook, webhook_by_id
from carrel.outbox.webhook_store import WEBHOOKS
from carrel.runs import Completed, Run, deliver
from carrel.surfaces.a2a import PushDuty
from carrel.wire import Resolver, Wire, web_host
from tests.harness.engine import Commanded, Engine, FakeClock, lane_key, open_engine, within
from tests.harness.process import reaching, servers_in
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, dropped, http_error, raw, text

pytestmark = pytest.mark.anyio
TAKEN = raw(b"", status=204)
SECRET = "s3cret-of-the-receiver"
PRIVATE = A2aPushSettings(allow_private_addresses=True, attempts_max=4)
EVERYTHING = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "result", "TASK_STATE_COMPLETED"]


def hook_of(receiver: ScriptedGateway) -> str:
    return f"{receiver.base_url}/v1/responses"


def accepting(receiver: ScriptedGateway) -> ScriptedGateway:
    receiver.rule = lambda request: TAKEN
    return receiver


def told(request: Request) -> str:
    """What a request told: a state, or the id of an artifact."""
    if "artifactUpdate" in request.json:
        return str(request.json["artifactUpdate"]["artifact"]["artifactId"])
    return str(request.json["statusUpdate"]["status"]["state"])


async def heard(receiver: ScriptedGateway, count: int) -> list[str]:
    """What the receiver was told once it had `count` requests."""
    requests = await asyncio.to_thread(receiver.wait_for_requests, count)
    return [told(request) for request in requests]


async def say(engine: Engine, name: str = "one", *, original: bytes = b'{"message":{"contextId":"c-1"}}') -> Run:
    said = Message(text="hello", provenance=Provenance(kind="a2a", actor="caller"), original=original)
    envelope = Envelope(key=lane_key(name), message=said)
    return await engine.db.write(lambda tx: deliver(tx, engine.access, envelope, engine.rules))


async def follow(engine: Engine, run: Run, url: str, webhook_id: str = "w") -> None:
    """Make a webhook that is told everything from the beginning."""
    address = WebhookAddress(url=url, host=web_host(url), token=SECRET, scheme="Bearer", credentials=SECRET[::-1])
    await engine.db.write(lambda tx: save_webhook(tx, engine.access, run.id, webhook_id, address, after=0))


@asynccontextmanager
async def pushing(
    engine: Engine, settings: A2aPushSettings = PRIVATE, resolve: Resolver | None = None
) -> AsyncIterator[None]:
    wire = Wire(resolve=resolve) if resolve else Wire()
    try:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(PushDuty(engine.db, wire, settings).serve())
            yield
            serving.cancel()
    finally:
        await wire.close()


async def webhook_when(engine: Engine, run: Run, holds: Callable[[Webhook], bool], webhook_id: str = "w") -> Webhook:
    """The webhook once it is as wanted."""
    found: list[Webhook] = []

    def look(tx: Any) -> bool:
        webhook = webhook_by_id(tx, engine.access, run.id, webhook_id)
        found[:] = [webhook] if webhook else []
        return webhook is not None and holds(webhook)

    await engine.until(WEBHOOKS, look)
    return found[0]


def later(engine: Engine, seconds: float) -> None:
    """Let time pass and whoever waits for it look again."""
    assert isinstance(engine.clock, FakeClock)
    engine.clock.advance(seconds)
    engine.db.bell(WEBHOOKS).ring()


@requirement("S1.push.deliver")
async def test_every_change_is_posted_in_order_with_the_receivers_own_secrets(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        async with open_engine(store_url) as engine, pushing(engine):
            accepting(receiver)
            run = await say(engine)
            await follow(engine, run, hook_of(receiver))
            assert await heard(receiver, 1) == EVERYTHING[:1]
            held = await engine.take_one()
            await engine.end(held, Completed(reply="there you are"))
            assert await heard(receiver, 4) == EVERYTHING
            done = await webhook_when(engine, run, lambda webhook: webhook.due_at is None)
            assert (done.sent_change, done.claim) == (4, None)
    for number, request in enumerate(receiver.requests, 1):
        assert request.headers["content-type"] == "application/a2a+json"
        assert request.headers["x-a2a-notification-token"] == SECRET
        assert request.headers["authorization"] == f"Bearer {SECRET[::-1]}"
        (update,) = request.json.values()
        assert (update["taskId"], update["contextId"], update["metadata"]["generation"]) == (run.id, "c-1", number)
    assert receiver.requests[2].json["artifactUpdate"]["artifact"]["parts"] == [{"text": "there you are"}]


@requirement("S1.push.deliver")
async def test_what_is_not_taken_is_posted_again_after_a_pause_and_nothing_overtakes_it(store_url: str) -> None:
    with ScriptedGateway() as receiver, ScriptedGateway() as elsewhere:
        redirect = http_error(307, location=hook_of(elsewhere))
        # The reply is taken and the end is not: only the end comes again.
        receiver.script(http_error(503), dropped(), redirect, TAKEN, TAKEN, TAKEN, http_error(404), TAKEN)
        async with open_engine(store_url) as engine, pushing(engine):
            run = await say(engine)
            await follow(engine, run, hook_of(receiver))
            await engine.end(await engine.take_one())
            for attempt, seconds in ((1, 5), (2, 10), (3, 20)):
                waiting = await webhook_when(engine, run, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
                assert waiting.due_at is not None
                assert waiting.due_at <= engine.clock.now_ms() + seconds * 1000
                assert len(receiver.requests) == attempt
                later(engine, seconds)
            await webhook_when(engine, run, lambda one: (one.sent_change, one.attempt) == (3, 1))
            later(engine, 5)
            await webhook_when(engine, run, lambda one: one.sent_change == 4)
        first, *_, last = EVERYTHING
        assert [told(request) for request in receiver.requests] == [first] * 3 + [*EVERYTHING, last]
        assert elsewhere.requests == []


@requirement("S1.push.deliver")
async def test_a_dead_webhook_is_given_up_with_a_reason_and_no_secret_is_logged(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    before = counted("webhooks.given_up.count")
    with ScriptedGateway() as gone:
        url = f"{hook_of(gone)}?key={SECRET}"
    async with open_engine(store_url) as engine, pushing(engine):
        run = await say(engine)
        await follow(engine, run, url)
        for attempt in range(1, PRIVATE.attempts_max):
            await webhook_when(engine, run, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
            later(engine, RETRY_MAX_SECONDS)
        given_up = await webhook_when(engine, run, lambda one: one.given_up is not None)
        assert given_up.given_up is not None
        assert "nothing answers there" in given_up.given_up
        # What comes afterwards is told to those who are left, and the run has never noticed.
        await engine.end(await engine.take_one())
        assert (await webhook_when(engine, run, lambda one: True)).due_at is None
    lines = [vars(record) for record in caplog.records if record.name == "carrel.a2a"]
    assert [line["msg"] for line in lines] == ["webhook_failed"] * 3 + ["webhook_given_up"]
    assert lines[-1] | {"run_id": run.id, "attempt": 4} == lines[-1]
    assert SECRET not in str([vars(record) for record in caplog.records if record.name != "asyncio"])
    assert SECRET[::-1] not in str(lines)
    assert counted("webhooks.given_up.count") == before + 1


def counted(name: str) -> float:
    return sum(sample.value for sample in METRICS.samples() if sample.name == name)


@requirement("S1.push.deliver")
async def test_a_webhook_that_does_not_answer_delays_neither_its_task_nor_another_webhook(store_url: str) -> None:
    gate, agent = Gate(), Commanded()
    with ScriptedGateway() as slow, ScriptedGateway() as quick:
        accepting(quick)
        slow.rule = lambda request: Answer(status=204, pieces=[], before=gate)
        async with open_engine(store_url, real=True) as engine, engine.working(agent.turn), pushing(engine):
            run = await say(engine)
            await follow(engine, run, hook_of(slow), "slow")
            await follow(engine, run, hook_of(quick), "quick")
            await gate.reached()
            agent.end((await agent.next()).id)
            assert (await engine.settled(run.id)).state == "completed"
            assert await heard(quick, 4) == EVERYTHING
            assert len(slow.requests) == 1
            gate.open()
            assert await heard(slow, 4) == EVERYTHING


@requirement("S1.push.deliver")
async def test_a_server_that_ends_in_the_middle_loses_nothing_and_the_next_one_goes_on(store_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as receiver:
        receiver.script(TAKEN, Answer(status=204, pieces=[], before=gate))
        accepting(receiver)
        async with open_engine(store_url) as engine:
            run = await say(engine)
            await follow(engine, run, hook_of(receiver))
            await engine.end(await engine.take_one())
            async with pushing(engine):
                await gate.reached()
            await asyncio.to_thread(receiver.wait_for_disconnects, 1)
        async with open_engine(store_url, clock=engine.clock) as engine, pushing(engine):
            if engine.db.engine == "postgresql":
                # Another server might still be at it: the lease must run out first.
                later(engine, WEBHOOK_LEASE_SECONDS)
            first, second, *rest = EVERYTHING
            assert await heard(receiver, 5) == [first, second, second, *rest]


@requirement("S1.push.deliver")
async def test_a_crowd_at_a_slow_host_leaves_places_to_others_and_is_served_in_the_end(sqlite_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as slow, ScriptedGateway() as quick:
        accepting(quick)
        slow.rule = lambda request: Answer(status=204, pieces=[], before=gate)
        async with open_engine(sqlite_url) as engine, pushing(engine):
            crowd = [await say(engine, f"slow{n}") for n in range(WEBHOOKS_PER_HOST_AT_A_TIME + 3)]
            for run in crowd:
                await follow(engine, run, hook_of(slow))
            await heard(slow, WEBHOOKS_PER_HOST_AT_A_TIME)
            await follow(engine, await say(engine, "quick"), hook_of(quick))
            assert await heard(quick, 1) == EVERYTHING[:1]
            assert len(slow.requests) == WEBHOOKS_PER_HOST_AT_A_TIME
            gate.open()
            await heard(slow, len(crowd))
            for run in crowd:
                await webhook_when(engine, run, lambda one: one.sent_change == 1)


@requirement("S1.push.deliver")
async def test_a_store_that_goes_away_in_the_middle_costs_a_repetition_and_no_change(postgres_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as receiver, Logged("webhooks_broke_off") as broke_off, Logged("webhooks_unread") as unread:
        receiver.script(Answer(status=204, pieces=[], before=gate))
        accepting(receiver)
        async with open_engine(postgres_url) as engine, pushing(engine):
            run = await say(engine)
            await follow(engine, run, hook_of(receiver))
            await gate.reached()
            let_nobody_in(postgres_url)
            gate.open()
            await within(broke_off.event.wait())
            await within(unread.event.wait())
            let_in(postgres_url)
            later(engine, WEBHOOK_LEASE_SECONDS)
            assert await heard(receiver, 2) == EVERYTHING[:1] * 2
            assert (await webhook_when(engine, run, lambda one: one.sent_change == 1)).attempt == 0


class Logged(logging.Handler):
    """Notices one log event of the duties."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.event = asyncio.Event()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._line:
            self.event.set()

    def __enter__(self) -> Self:
        logging.getLogger("carrel").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("carrel").removeHandler(self)


def let_nobody_in(url: str) -> None:
    """Cut everybody off from a database and let nobody in again."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def let_in(url: str) -> None:
    """Let everybody in again."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())


@requirement("S1.push.deliver")
async def test_several_servers_share_the_work_and_tell_everything_once_and_in_order(postgres_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with (
            open_engine(postgres_url, real=True) as one,
            open_engine(postgres_url, real=True) as two,
            pushing(one),
            pushing(two),
        ):
            runs = [await say(one, f"run{n}") for n in range(12)]
            for run in runs:
                await follow(one, run, hook_of(receiver))
            for held in await two.take(len(runs)):
                await two.end(held)
            await heard(receiver, 4 * len(runs))
            for run in runs:
                await webhook_when(one, run, lambda webhook: webhook.due_at is None)
    by_run: dict[str, list[str]] = {}
    for request in receiver.requests:
        (update,) = request.json.values()
        by_run.setdefault(update["taskId"], []).append(told(request))
    assert by_run == {run.id: EVERYTHING for run in runs}


@requirement("S1.push.guard")
async def test_a_name_that_leads_into_our_own_network_is_not_called_even_if_it_once_led_elsewhere(
    store_url: str,
) -> None:
    numbers = ["127.0.0.1"]

    async def resolve(host: str, port: int) -> list[str]:
        return numbers

    with ScriptedGateway() as receiver:
        accepting(receiver)
        url = hook_of(receiver).replace("127.0.0.1", "receiver.example.com")
        async with open_engine(store_url) as engine, pushing(engine, A2aPushSettings(attempts_max=3), resolve):
            run = await say(engine)
            await follow(engine, run, url)
            for attempt, refused in ((1, "169.254.169.254"), (2, "10.0.0.8")):
                await webhook_when(engine, run, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
                numbers[:] = ["93.184.216.34", refused]
                later(engine, RETRY_MAX_SECONDS)
            given_up = await webhook_when(engine, run, lambda one: one.given_up is not None)
            assert "not a public address" in (given_up.given_up or "")
        assert receiver.connections == 0


@requirement("S1.push.guard")
async def test_a_private_address_is_called_only_where_the_operator_allows_it(sqlite_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(sqlite_url) as engine:
            run = await say(engine)
            await follow(engine, run, hook_of(receiver))
            async with pushing(engine, A2aPushSettings()):
                await webhook_when(engine, run, lambda one: one.attempt == 1)
            assert receiver.connections == 0
            later(engine, 5)
            async with pushing(engine, PRIVATE):
                assert await heard(receiver, 1) == EVERYTHING[:1]


async def test_what_cannot_be_told_is_given_up_and_takes_no_other_webhook_with_it(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(store_url) as engine, pushing(engine):
            broken = await say(engine, "broken", original=b"{}")
            await follow(engine, broken, hook_of(receiver))
            for attempt in range(1, PRIVATE.attempts_max):
                await webhook_when(engine, broken, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
                later(engine, RETRY_MAX_SECONDS)
            given_up = await webhook_when(engine, broken, lambda one: one.given_up is not None)
            assert given_up.given_up == "Delivery failed on this server: KeyError."
            await follow(engine, await say(engine, "whole"), hook_of(receiver))
            assert await heard(receiver, 1) == EVERYTHING[:1]


async def test_what_the_feed_no_longer_holds_is_passed_over(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(store_url) as engine:
            run = await say(engine)
            await follow(engine, run, hook_of(receiver))
            held = await engine.take_one()
            await engine.db.write(lambda tx: tx.run("DELETE FROM events WHERE change IS NOT NULL"))
            async with pushing(engine):
                await webhook_when(engine, run, lambda one: one.sent_change == 2)
                await engine.end(held)
                assert await heard(receiver, 2) == EVERYTHING[2:]


@pytest.mark.slow
@requirement("S1.push.deliver", "S1.push.config")
def test_a_webhook_survives_a_kill_and_is_told_the_rest_by_the_next_server(tmp_path: Path) -> None:
    gate = Gate()
    with ScriptedGateway() as model, ScriptedGateway() as receiver, servers_in(tmp_path) as start:
        model.rule = lambda request: text("done")
        receiver.script(TAKEN, Answer(status=204, pieces=[], before=gate))
        accepting(receiver)
        settings = reaching(model) | {"CARREL_A2A__PUSH__ALLOW_PRIVATE_ADDRESSES": "true"}
        server = start(**settings)
        message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        webhook = {"url": hook_of(receiver), "token": SECRET}
        with server.client() as client:
            answer = client.post(
                "/a2a/main/message:send",
                json={"message": message, "configuration": {"taskPushNotificationConfig": webhook}},
            )
            assert answer.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED", answer.text
        gate.wait_reached()
        server.kill()
        server = start(**settings)
        requests = receiver.wait_for_requests(5)
        first, second, *rest = EVERYTHING
        assert [told(request) for request in requests] == [first, second, second, *rest]
        with server.client() as client:
            task_id = answer.json()["task"]["id"]
            kept = client.get(f"/a2a/main/tasks/{task_id}/pushNotificationConfigs").json()["configs"]
        assert [(config["url"], config["token"]) for config in kept] == [(hook_of(receiver), SECRET)]
        assert SECRET not in json.dumps(server.log())

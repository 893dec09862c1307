"""Push delivery: every change of a task is posted in order and at least once, and nothing waits for it."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self

import psycopg
import pytest
from a2a.compat.v0_3.types import Task as OldTask

from carrel.kernel import METRICS, Envelope, Message, Provenance
from carrel.kernel.limits import RETRY_MAX_SECONDS, WEBHOOK_LEASE_SECONDS, WEBHOOKS_PER_HOST_AT_A_TIME
from carrel.kernel.settings import A2aPushSettings, A2aSettings, Settings
from carrel.outbox import Webhook, WebhookAddress, save_webhook, webhook_by_id
from carrel.outbox.webhook_store import WEBHOOKS
from carrel.runs import Completed, Run, deliver
from carrel.surfaces.a2a import PushDuty
from carrel.wire import Resolver, Wire, web_host
from tests.harness.engine import Commanded, Engine, FakeClock, lane_key, open_engine, within
from tests.harness.process import reaching, servers_in
from tests.harness.server import open_http_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, dropped, http_error, raw, text
from tests.surfaces.a2a.a2a_calls import ask, call

ACCEPTED = raw(b"", status=204)
SECRET = "s3cret-of-the-receiver"
PRIVATE = A2aPushSettings(allow_private_addresses=True, attempts_max=4)
EVERYTHING = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "result", "TASK_STATE_COMPLETED"]


def hook_of(receiver: ScriptedGateway) -> str:
    return f"{receiver.base_url}/v1/responses"


def accepting(receiver: ScriptedGateway) -> ScriptedGateway:
    receiver.rule = lambda request: ACCEPTED
    return receiver


def reported(request: Request) -> str:
    """Return what a request reported: a state, or the id of an artifact."""
    if "artifactUpdate" in request.json:
        return str(request.json["artifactUpdate"]["artifact"]["artifactId"])
    return str(request.json["statusUpdate"]["status"]["state"])


async def received(receiver: ScriptedGateway, count: int) -> list[str]:
    """Return what the receiver got once it had `count` requests."""
    requests = await asyncio.to_thread(receiver.wait_for_requests, count)
    return [reported(request) for request in requests]


def hook(receiver: ScriptedGateway, name: str) -> dict[str, str]:
    """Return a push notification config of either version, whose posts carry the name."""
    return {"id": name, "url": hook_of(receiver), "token": name}


def posts_of(receiver: ScriptedGateway, name: str) -> list[Request]:
    """Return what was posted to the config of that name."""
    return [one for one in receiver.requests if one.headers["x-a2a-notification-token"] == name]


def is_end(request: Request) -> bool:
    """Return whether a request reported the end, in either version."""
    status = request.json.get("status") or request.json.get("statusUpdate", {}).get("status", {})
    return status.get("state") in ("completed", "TASK_STATE_COMPLETED")


async def deliver_message(
    engine: Engine, name: str = "one", *, original: bytes = b'{"message":{"contextId":"c-1"}}'
) -> Run:
    message = Message(text="hello", provenance=Provenance(kind="a2a", actor="caller"), original=original)
    envelope = Envelope(key=lane_key(name), message=message)
    return await engine.db.write(lambda tx: deliver(tx, engine.access, envelope, engine.rules))


async def add_webhook(
    engine: Engine, run: Run, url: str, webhook_id: str = "w", protocol: Literal["1.0", "0.3"] = "1.0"
) -> None:
    """Create a webhook that gets every change from the first one on."""
    secrets = {"token": SECRET, "scheme": "Bearer", "credentials": SECRET[::-1]}
    address = WebhookAddress(url=url, host=web_host(url), protocol=protocol, **secrets)
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
    """Return the webhook once the condition holds."""
    found: list[Webhook] = []

    def read(tx: Any) -> bool:
        webhook = webhook_by_id(tx, engine.access, run.id, webhook_id)
        found[:] = [webhook] if webhook else []
        return webhook is not None and holds(webhook)

    await engine.until(read)
    return found[0]


def advance_clock(engine: Engine, seconds: float) -> None:
    """Advance the clock and wake the duty."""
    assert isinstance(engine.clock, FakeClock)
    engine.clock.advance(seconds)
    engine.db.bell(WEBHOOKS).ring()


@requirement("S1.push.deliver")
async def test_every_change_is_posted_in_order_with_the_webhooks_secrets(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        async with open_engine(store_url) as engine, pushing(engine):
            accepting(receiver)
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver))
            assert await received(receiver, 1) == EVERYTHING[:1]
            held = await engine.take_one()
            await engine.end(held, Completed(reply="there you are"))
            assert await received(receiver, 4) == EVERYTHING
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
async def test_a_webhook_is_posted_the_form_of_the_version_that_registered_it(sqlite_url: str) -> None:
    settings = Settings(a2a=A2aSettings(push=PRIVATE))
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_http_server(sqlite_url, settings=settings) as server, server.client() as client:
            parts = [{"kind": "text", "text": "hold here"}]
            sent = await call(
                client,
                "message/send",
                {
                    "message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": parts},
                    "configuration": {"blocking": False, "pushNotificationConfig": hook(receiver, "with-message")},
                },
                version="0.3",
            )
            task_id = sent["result"]["id"]
            set_old = {"taskId": task_id, "pushNotificationConfig": hook(receiver, "by-rpc")}
            await call(client, "tasks/pushNotificationConfig/set", set_old, version="0.3")
            by_rest = {"config": {"pushNotificationConfig": hook(receiver, "by-rest")}}
            made = await client.post(f"/a2a/main/v1/tasks/{task_id}/pushNotificationConfigs", json=by_rest)
            assert made.status_code == 200, made.text
            await ask(client, "CreateTaskPushNotificationConfig", taskId=task_id, **hook(receiver, "new"))
            await server.agent.reached("here")
            server.agent.release("here")
            while len([one for one in receiver.requests if is_end(one)]) < 4:
                await asyncio.to_thread(receiver.wait_for_requests, len(receiver.requests) + 1)
    for name in ("with-message", "by-rpc", "by-rest"):
        posts = posts_of(receiver, name)
        assert {one.headers["content-type"] for one in posts} == {"application/json"}
        tasks = [OldTask.model_validate(one.json) for one in posts]
        assert {(task.id, task.kind) for task in tasks} == {(task_id, "task")}
        states = ["submitted", "working", "working", "completed"]
        assert [task.status.state.value for task in tasks] == states[-len(tasks) :]
        artifacts = [[one.artifact_id for one in task.artifacts or []] for task in tasks]
        assert artifacts == [[], [], ["result"], ["result"]][-len(tasks) :]
    assert len(posts_of(receiver, "with-message")) == 4
    new = posts_of(receiver, "new")
    assert {one.headers["content-type"] for one in new} == {"application/a2a+json"}
    assert [reported(one) for one in new][-2:] == EVERYTHING[-2:]


@requirement("S1.push.deliver")
async def test_a_webhook_of_0_3_gets_the_task_as_it_was_at_each_change_however_late(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(store_url) as engine:
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver), protocol="0.3")
            await engine.end(await engine.take_one(), Completed(reply="there you are"))
            async with pushing(engine):
                await webhook_when(engine, run, lambda webhook: webhook.due_at is None)
    tasks = [OldTask.model_validate(one.json) for one in receiver.requests]
    assert [task.status.state.value for task in tasks] == ["submitted", "working", "working", "completed"]
    assert [len(task.artifacts or []) for task in tasks] == [0, 0, 1, 1]
    assert [(task.metadata or {})["generation"] for task in tasks] == [1, 2, 3, 4]


@requirement("S1.push.deliver")
async def test_a_rejected_change_is_retried_after_a_pause_and_not_overtaken(store_url: str) -> None:
    with ScriptedGateway() as receiver, ScriptedGateway() as elsewhere:
        redirect = http_error(307, location=hook_of(elsewhere))
        # The reply is accepted and the end is not: only the end is posted again.
        receiver.script(http_error(503), dropped(), redirect, ACCEPTED, ACCEPTED, ACCEPTED, http_error(404), ACCEPTED)
        async with open_engine(store_url) as engine, pushing(engine):
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver))
            await engine.end(await engine.take_one())
            for attempt, seconds in ((1, 5), (2, 10), (3, 20)):
                waiting = await webhook_when(engine, run, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
                assert waiting.due_at is not None
                assert waiting.due_at <= engine.clock.now_ms() + seconds * 1000
                assert len(receiver.requests) == attempt
                advance_clock(engine, seconds)
            await webhook_when(engine, run, lambda one: (one.sent_change, one.attempt) == (3, 1))
            advance_clock(engine, 5)
            await webhook_when(engine, run, lambda one: one.sent_change == 4)
        first, *_, last = EVERYTHING
        assert [reported(request) for request in receiver.requests] == [first] * 3 + [*EVERYTHING, last]
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
        run = await deliver_message(engine)
        await add_webhook(engine, run, url)
        for attempt in range(1, PRIVATE.attempts_max):
            await webhook_when(engine, run, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
            advance_clock(engine, RETRY_MAX_SECONDS)
        given_up = await webhook_when(engine, run, lambda one: one.given_up is not None)
        assert given_up.given_up is not None
        assert "nothing answers there" in given_up.given_up
        # Later changes are not posted to it, and the run is not affected.
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
async def test_a_slow_webhook_delays_neither_its_task_nor_another_webhook(store_url: str) -> None:
    gate, agent = Gate(), Commanded()
    with ScriptedGateway() as slow, ScriptedGateway() as quick:
        accepting(quick)
        slow.rule = lambda request: Answer(status=204, pieces=[], before=gate)
        async with open_engine(store_url, real=True) as engine, engine.working(agent.turn), pushing(engine):
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(slow), "slow")
            await add_webhook(engine, run, hook_of(quick), "quick")
            await gate.reached()
            agent.end((await agent.next()).id)
            assert (await engine.settled(run.id)).state == "completed"
            assert await received(quick, 4) == EVERYTHING
            assert len(slow.requests) == 1
            gate.open()
            assert await received(slow, 4) == EVERYTHING


@requirement("S1.push.deliver")
async def test_after_a_server_stops_in_the_middle_the_next_one_continues(store_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as receiver:
        receiver.script(ACCEPTED, Answer(status=204, pieces=[], before=gate))
        accepting(receiver)
        async with open_engine(store_url) as engine:
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver))
            await engine.end(await engine.take_one())
            async with pushing(engine):
                await gate.reached()
            await asyncio.to_thread(receiver.wait_for_disconnects, 1)
        async with open_engine(store_url, clock=engine.clock) as engine, pushing(engine):
            if engine.db.engine == "postgresql":
                # Another server could still hold the lease, which must expire first.
                advance_clock(engine, WEBHOOK_LEASE_SECONDS)
            first, second, *rest = EVERYTHING
            assert await received(receiver, 5) == [first, second, second, *rest]


@requirement("S1.push.deliver")
async def test_many_webhooks_of_a_slow_host_leave_slots_for_others_and_are_all_served(surface_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as slow, ScriptedGateway() as quick:
        accepting(quick)
        slow.rule = lambda request: Answer(status=204, pieces=[], before=gate)
        async with open_engine(surface_url) as engine, pushing(engine):
            crowd = [await deliver_message(engine, f"slow{n}") for n in range(WEBHOOKS_PER_HOST_AT_A_TIME + 3)]
            for run in crowd:
                await add_webhook(engine, run, hook_of(slow))
            await received(slow, WEBHOOKS_PER_HOST_AT_A_TIME)
            await add_webhook(engine, await deliver_message(engine, "quick"), hook_of(quick))
            assert await received(quick, 1) == EVERYTHING[:1]
            assert len(slow.requests) == WEBHOOKS_PER_HOST_AT_A_TIME
            gate.open()
            await received(slow, len(crowd))
            for run in crowd:
                await webhook_when(engine, run, lambda one: one.sent_change == 1)


@requirement("S1.push.deliver")
async def test_losing_the_store_in_the_middle_repeats_a_post_and_loses_no_change(postgres_url: str) -> None:
    gate = Gate()
    with ScriptedGateway() as receiver, Logged("webhooks_broke_off") as broke_off, Logged("webhooks_unread") as unread:
        receiver.script(Answer(status=204, pieces=[], before=gate))
        accepting(receiver)
        async with open_engine(postgres_url) as engine, pushing(engine):
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver))
            await gate.reached()
            refuse_connections(postgres_url)
            gate.open()
            await within(broke_off.event.wait())
            await within(unread.event.wait())
            accept_connections(postgres_url)
            advance_clock(engine, WEBHOOK_LEASE_SECONDS)
            assert await received(receiver, 2) == EVERYTHING[:1] * 2
            assert (await webhook_when(engine, run, lambda one: one.sent_change == 1)).attempt == 0


class Logged(logging.Handler):
    """Notices one log event."""

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


def refuse_connections(url: str) -> None:
    """Close all connections to a database and refuse new ones."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def accept_connections(url: str) -> None:
    """Accept connections again."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())


@requirement("S1.push.deliver")
async def test_several_servers_share_the_work_and_post_everything_once_in_order(postgres_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with (
            open_engine(postgres_url, real=True) as one,
            open_engine(postgres_url, real=True) as two,
            pushing(one),
            pushing(two),
        ):
            runs = [await deliver_message(one, f"run{n}") for n in range(12)]
            for run in runs:
                await add_webhook(one, run, hook_of(receiver))
            for held in await two.take(len(runs)):
                await two.end(held)
            await received(receiver, 4 * len(runs))
            for run in runs:
                await webhook_when(one, run, lambda webhook: webhook.due_at is None)
    by_run: dict[str, list[str]] = {}
    for request in receiver.requests:
        (update,) = request.json.values()
        by_run.setdefault(update["taskId"], []).append(reported(request))
    assert by_run == {run.id: EVERYTHING for run in runs}


@requirement("S1.push.guard")
async def test_a_host_that_resolves_to_a_private_address_later_is_not_called(
    store_url: str,
) -> None:
    numbers = ["127.0.0.1"]

    async def resolve(host: str, port: int) -> list[str]:
        return numbers

    with ScriptedGateway() as receiver:
        accepting(receiver)
        url = hook_of(receiver).replace("127.0.0.1", "receiver.example.com")
        async with open_engine(store_url) as engine, pushing(engine, A2aPushSettings(attempts_max=3), resolve):
            run = await deliver_message(engine)
            await add_webhook(engine, run, url)
            for attempt, refused in ((1, "169.254.169.254"), (2, "10.0.0.8")):
                await webhook_when(engine, run, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
                numbers[:] = ["93.184.216.34", refused]
                advance_clock(engine, RETRY_MAX_SECONDS)
            given_up = await webhook_when(engine, run, lambda one: one.given_up is not None)
            assert "not a public address" in (given_up.given_up or "")
        assert receiver.connections == 0


@requirement("S1.push.guard")
async def test_a_private_address_is_called_only_if_the_operator_allows_it(surface_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(surface_url) as engine:
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver))
            async with pushing(engine, A2aPushSettings()):
                await webhook_when(engine, run, lambda one: one.attempt == 1)
            assert receiver.connections == 0
            advance_clock(engine, 5)
            async with pushing(engine, PRIVATE):
                assert await received(receiver, 1) == EVERYTHING[:1]


async def test_a_change_that_cannot_be_rendered_is_given_up_without_affecting_other_webhooks(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(store_url) as engine, pushing(engine):
            broken = await deliver_message(engine, "broken", original=b"{}")
            await add_webhook(engine, broken, hook_of(receiver))
            for attempt in range(1, PRIVATE.attempts_max):
                await webhook_when(engine, broken, lambda one, n=attempt: one.attempt == n)  # type: ignore[misc]
                advance_clock(engine, RETRY_MAX_SECONDS)
            given_up = await webhook_when(engine, broken, lambda one: one.given_up is not None)
            assert given_up.given_up == "Delivery failed on this server: KeyError."
            await add_webhook(engine, await deliver_message(engine, "whole"), hook_of(receiver))
            assert await received(receiver, 1) == EVERYTHING[:1]


async def test_changes_that_the_feed_no_longer_has_are_skipped(store_url: str) -> None:
    with ScriptedGateway() as receiver:
        accepting(receiver)
        async with open_engine(store_url) as engine:
            run = await deliver_message(engine)
            await add_webhook(engine, run, hook_of(receiver))
            held = await engine.take_one()
            await engine.db.write(lambda tx: tx.run("DELETE FROM events WHERE change IS NOT NULL"))
            async with pushing(engine):
                await webhook_when(engine, run, lambda one: one.sent_change == 2)
                await engine.end(held)
                assert await received(receiver, 2) == EVERYTHING[2:]


@pytest.mark.slow
@requirement("S1.push.deliver", "S1.push.config")
def test_after_a_kill_the_next_server_delivers_the_rest(tmp_path: Path) -> None:
    gate = Gate()
    with ScriptedGateway() as model, ScriptedGateway() as receiver, servers_in(tmp_path) as start:
        model.rule = lambda request: text("done")
        receiver.script(ACCEPTED, Answer(status=204, pieces=[], before=gate))
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
        assert [reported(request) for request in requests] == [first, second, second, *rest]
        with server.client() as client:
            task_id = answer.json()["task"]["id"]
            kept = client.get(f"/a2a/main/tasks/{task_id}/pushNotificationConfigs").json()["configs"]
        assert [(config["url"], config["token"]) for config in kept] == [(hook_of(receiver), SECRET)]
        assert SECRET not in json.dumps(server.log())

"""A model that is not there: what is said meanwhile is kept, and answered once, in order, when it is back."""

import contextlib
import random
from collections.abc import AsyncIterator

import httpx
import pytest

from carrel.access import NewToken, mint_token
from carrel.kernel.settings import GatewaySettings, RunsSettings, Settings
from carrel.main.assembly import open_store
from carrel.main.gateways import Gateways
from carrel.runs.unreachable_store import unreachable_gateways
from carrel.storage import Tx
from tests.harness.engine import FakeClock
from tests.harness.server import Server, gateways_to, open_server, usual
from tests.harness.watched_database import WatchedDatabase
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, dropped, text

LANES, EACH = 5, 4


@contextlib.asynccontextmanager
async def server_on(clock: FakeClock, url: str, gateways: dict[str, GatewaySettings]) -> AsyncIterator[Server]:
    """A server whose runs wait on a fake clock; its outages are looked for on the real one."""
    db = WatchedDatabase(open_store(url, durability="normal", clock=clock, chance=random.Random(5)))
    async with Gateways(gateways) as opened:
        server = Server(db, opened.wire, opened.connections, usual(None), gateway_troubles=opened.troubles)
        server.clock = clock
        await server.prepare()
        server.start()
        try:
            yield server
        finally:
            await server.kill()
            await db.close()


def said_last(request: Request) -> str:
    return str(request.json["input"][-1]["content"][-1]["text"]).splitlines()[-1]


def echo(request: Request) -> Answer:
    return text(f"Answer to {said_last(request)}")


async def all_tried(server: Server) -> None:
    """Wait until every head of a lane has found that nobody is there."""

    def tried(tx: Tx) -> bool:
        row = tx.one("SELECT count(*) FROM runs WHERE due_at > :now AND unreachable_gateway = 'default'", now=tx.now)
        return row == (LANES,)

    await server.until(tried)


def is_put_off(tx: Tx) -> bool:
    """Whether the one run was tried in vain and waits for the next attempt, which is at most 300 s away."""
    return tx.one("SELECT 1 FROM runs WHERE due_at > :now", now=tx.now) is not None


@requirement("T.unreachable")
@pytest.mark.parametrize("seconds", [10, 60, 600])
async def test_runs_that_wait_for_a_model_are_all_answered_once_and_in_order(
    store_url: str, gateway: ScriptedGateway, seconds: int
) -> None:
    gateway.rule = echo
    clock = FakeClock()
    async with server_on(clock, store_url, gateways_to(gateway)) as server:
        gateway.go_away()
        sent = [await server.send(f"message {at}", f"hook:lane-{at % LANES}") for at in range(LANES * EACH)]
        for _ in range(10):
            await all_tried(server)
            server.advance(seconds / 10)
        gateway.come_back()
        fresh = await server.ask("message fresh", "hook:fresh")
        assert await server.read(unreachable_gateways) == [], "the first success lets all others go on"
        ended = [await server.settled(run) for run in sent]
    assert fresh.reply == "Answer to message fresh"
    assert [run.reply for run in ended] == [f"Answer to message {at}" for at in range(LANES * EACH)]
    assert {run.attempt for run in ended} == {1}
    heard = [said_last(request) for request in gateway.requests]
    assert sorted(heard) == sorted({*heard}), "nothing was asked twice"
    for lane in range(LANES):
        of_lane = [words for words in heard if words in {f"message {at}" for at in range(lane, LANES * EACH, LANES)}]
        assert of_lane == [f"message {at}" for at in range(lane, LANES * EACH, LANES)]


@requirement("T.unreachable")
async def test_a_gateway_that_runs_wait_for_is_checked_until_it_answers(
    store_url: str, gateway: ScriptedGateway
) -> None:
    async with server_on(FakeClock(), store_url, gateways_to(gateway)) as server:
        gateway.go_away()
        run = await server.send("hello")
        await server.until(lambda tx: unreachable_gateways(tx) == ["default"])
        outages = server.turns_on(server.db).outages
        outages.note("default")
        await outages.check()
        assert await server.read(unreachable_gateways) == ["default"]
        gateway.script(text("Here again."))
        gateway.come_back()
        await outages.check()
        assert (await server.settled(run)).reply == "Here again."


async def test_runs_that_wait_for_a_gateway_that_is_removed_go_on(sqlite_url: str, gateway: ScriptedGateway) -> None:
    async with server_on(FakeClock(), sqlite_url, gateways_to(gateway)) as server:
        gateway.go_away()
        await server.send("hello")
        await server.until(lambda tx: unreachable_gateways(tx) == ["default"])
    async with server_on(FakeClock(), sqlite_url, {}) as server:
        outages = server.turns_on(server.db).outages
        outages.note("default")
        await outages.check()
        assert await server.read(unreachable_gateways) == []


@requirement("T.unreachable", "S0.x.poison")
async def test_a_step_that_its_server_never_answers_is_counted_while_the_server_is_there(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: dropped()
    settings = Settings(runs=RunsSettings(attempts_max=3))
    async with open_server(sqlite_url, gateways_to(gateway), settings) as server:
        dead = await server.ask("what makes it crash")
    assert (dead.state, dead.reason, dead.attempt, len(gateway.requests)) == ("failed", "dead_letter", 3, 3)


@requirement("T.unreachable")
async def test_a_model_that_dies_during_a_turn_is_waited_for(store_url: str, gateway: ScriptedGateway) -> None:
    clock = FakeClock()
    async with server_on(clock, store_url, gateways_to(gateway)) as server:
        gateway.script(dropped())
        run = await server.send("hello")
        await server.until(lambda tx: tx.one("SELECT 1 FROM runs WHERE failed_at IS NOT NULL") is not None)
        gateway.go_away()
        for _ in range(20):
            server.advance(300)
            await server.until(is_put_off)
        gateway.script(text("Here again."))
        gateway.come_back()
        server.advance(300)
        ended = await server.settled(run)
    assert (ended.reply, ended.attempt) == ("Here again.", 2), "the attempt that it died in was the only one counted"


@requirement("T.unreachable")
async def test_a_server_in_between_that_only_hangs_up_uses_one_attempt(
    store_url: str, gateway: ScriptedGateway
) -> None:
    async with server_on(FakeClock(), store_url, gateways_to(gateway)) as server:
        there, gateway.models = gateway.models, dropped()
        gateway.rule = lambda request: dropped()
        run = await server.send("hello")
        await server.until(is_put_off)
        for _ in range(10):
            server.advance(300)
            await server.until(is_put_off)
        assert len(gateway.requests) == 1, "nothing more is sent to a server that does not answer a check"
        gateway.models, gateway.rule = there, echo
        server.advance(300)
        ended = await server.settled(run)
    assert (ended.reply, ended.attempt) == ("Answer to hello", 2)


@requirement("T.unreachable")
async def test_health_and_the_run_say_that_its_model_is_not_there(store_url: str, gateway: ScriptedGateway) -> None:
    async with server_on(FakeClock(), store_url, gateways_to(gateway)) as server:
        gateway.go_away()
        run = await server.send("hello")
        await server.until(lambda tx: unreachable_gateways(tx) == ["default"])
        new = NewToken(kind="owner", name="o")
        _, token = await server.db.write(lambda tx: mint_token(tx, server.access, new))
        transport, headers = httpx.ASGITransport(app=server.assembly.app), {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://carrel.test", headers=headers) as client:
            health = (await client.get("/api/health")).json()
            shown = (await client.get(f"/api/runs/{run.id}")).json()["run"]
            why = (await client.get(f"/api/runs/{run.id}/why")).json()
    told = {one["name"]: (one["status"], one["waitingRuns"]) for one in health["gateways"]}
    assert told == {"builtin": ("ok", 0), "default": ("failed", 1)}
    fault = shown["lastFault"]
    assert (shown["state"], shown["attempt"], fault["code"]) == ("queued", 1, "gateway_unreachable")
    assert fault["unreachableSince"] == fault["at"] < fault["nextAttemptAt"]
    (reason,) = why["reasons"]
    assert (reason["code"], reason["since"]) == ("gateway_down", fault["unreachableSince"])
    assert "The message is kept and answered when it can be reached. Next try in " in reason["text"]

"""A model that is asked after a turn what of it is worth keeping: where that goes, and what happens when it fails."""

import asyncio
import json
from typing import Any

import pytest

from carrel.delivery import Extractions
from carrel.delivery.extraction_store import Extraction, extractions_due
from carrel.kernel import MS_PER_DAY, Echoes
from carrel.kernel.settings import MemorySettings, Settings
from carrel.runs import Run, remove_lane
from carrel.sessions import lane_of
from carrel.storage import Tx
from tests.harness.engine import MAIN
from tests.harness.server import Server, gateways_to, open_server
from tests.memory.places import Notebook
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, http_error, text

SECONDS_MAX = 20
BY_MODEL = Settings(memory=MemorySettings(extraction="model"))
NOTHING = '{"facts": []}'


def is_extraction(request: Request) -> bool:
    """Return whether a request asks about a turn."""
    return request.headers["x-openclaw-session-key"].startswith(f"{Echoes.REQUESTS}memory:")


def asks(gateway: ScriptedGateway) -> list[dict[str, Any]]:
    """Return the requests that asked about a turn."""
    return [request.json for request in gateway.requests if is_extraction(request)]


def listing(*facts: tuple[str, str]) -> str:
    """Return an answer that lists facts."""
    return json.dumps({"facts": [{"type": kind, "content": content} for kind, content in facts]})


def answering(found: Answer) -> Any:
    """Return a rule that answers every turn with a word, and every question about one with `found`."""
    return lambda request: found if is_extraction(request) else text("Fine.")


async def kept(server: Server) -> list[tuple[str, str]]:
    """Return scope and content of every memory, oldest first."""
    sql = "SELECT scope, content FROM memories WHERE account_id = :account ORDER BY id"
    return [tuple(row) for row in await server.read(lambda tx: tx.all(sql, server.access))]


async def until_asked(server: Server) -> None:
    """Return once no turn is left that a model is to be asked about now."""
    sql = "SELECT count(*) FROM extractions WHERE account_id = :account AND attempt = 0"
    bell = server.db.bell(Extractions.bell)
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            version = bell.version
            if await server.read(lambda tx: tx.one(sql, server.access)) == (0,):
                return
            await bell.wait(version, SECONDS_MAX)


def _remove(tx: Tx, server: Server, run: Run) -> None:
    lane = lane_of(tx, server.access, run.session_key)
    assert lane is not None
    assert remove_lane(tx, server.access, lane) is None


@requirement("S3.scope.persist.task", "S3.scope.persist.session", "S3.scope.persist.global")
async def test_what_a_model_finds_is_kept_where_its_type_belongs(store_url: str, gateway: ScriptedGateway) -> None:
    facts = [("preference", "Ada likes tea."), ("result", "The fence is green."), ("decision", "We use oil paint.")]
    gateway.rule = answering(text(listing(*facts)))
    async with open_server(store_url, gateways_to(gateway), BY_MODEL) as server:
        await server.make_task("t1")
        run = await server.ask("how is the fence?", "task:t1")
        await until_asked(server)
        assert sorted(await kept(server)) == [
            ("session:task:t1", "Ada likes tea."),
            ("session:task:t1", "We use oil paint."),
            ("task:t1", "The fence is green."),
        ]
        sql = "SELECT source_run_id, created_by FROM memories WHERE account_id = :account"
        assert set(await server.read(lambda tx: tx.all(sql, server.access))) == {(run.id, "main")}
    (asked,) = asks(gateway)
    assert asked["tools"] == []
    shown = asked["input"][0]["content"][0]["text"]
    assert "how is the fence?" in shown
    assert "Fine." in shown


async def test_the_model_is_told_what_is_kept_already(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = answering(text(NOTHING))
    async with open_server(sqlite_url, gateways_to(gateway), BY_MODEL) as server:
        await Notebook(server).keep("The fence is green", "session:main:main")
        await server.ask("which colour is the fence?")
        await until_asked(server)
    assert "- [session] The fence is green" in asks(gateway)[0]["input"][0]["content"][0]["text"]


async def test_by_default_no_model_is_asked(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Noted."))
    await server.ask("We decided to use oil paint.")
    assert await kept(server) == [("session:main:main", "We decided to use oil paint.")]
    sql = "SELECT count(*) FROM extractions WHERE account_id = :account"
    assert await server.read(lambda tx: tx.one(sql, server.access)) == (0,)


async def test_the_built_in_agent_is_not_asked(sqlite_url: str) -> None:
    async with open_server(sqlite_url, settings=BY_MODEL) as server:
        await server.ask("We decided to use oil paint.")
        assert await kept(server) == [("session:main:main", "We decided to use oil paint.")]
        assert await server.read(lambda tx: tx.one("SELECT count(*) FROM extractions")) == (0,)


async def test_nothing_is_kept_by_itself_when_that_is_switched_off(sqlite_url: str, gateway: ScriptedGateway) -> None:
    off = Settings(memory=MemorySettings(extraction="off"))
    gateway.script(text("Noted."))
    async with open_server(sqlite_url, gateways_to(gateway), off) as server:
        await server.ask("We decided to use oil paint.")
        assert await kept(server) == []


@pytest.mark.parametrize("found", [http_error(503), text("I found nothing worth keeping.")])
async def test_a_model_that_fails_is_asked_again_later(
    sqlite_url: str, gateway: ScriptedGateway, found: Answer
) -> None:  # fmt: skip
    gateway.rule = answering(found)
    async with open_server(sqlite_url, gateways_to(gateway), BY_MODEL) as server:
        run = await server.ask("hello")
        await until_asked(server)
        sql = "SELECT attempt, due_at > :now FROM extractions WHERE account_id = :account AND run_id = :run_id"
        row = await server.read(lambda tx: tx.one(sql, server.access, run_id=run.id, now=tx.now))
        assert row is not None
        assert (row[0], bool(row[1])) == (1, True)


async def test_a_model_that_will_always_fail_is_not_asked_again(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = answering(http_error(400))
    async with open_server(sqlite_url, gateways_to(gateway), BY_MODEL) as server:
        await server.ask("hello")
        await until_asked(server)
        assert await server.read(lambda tx: tx.one("SELECT count(*) FROM extractions")) == (0,)


async def test_nothing_is_kept_for_a_session_that_was_deleted_meanwhile(
    store_url: str, gateway: ScriptedGateway
) -> None:  # fmt: skip
    gate = Gate()
    gateway.rule = answering(text(listing(("fact", "The fence is green.")), before=gate))
    async with open_server(store_url, gateways_to(gateway), BY_MODEL) as server:
        run = await server.ask("hello", "web:abcdefgh")
        await gate.reached()
        await server.db.write(lambda tx: _remove(tx, server, run))
        bell = server.db.bell(Extractions.bell)
        version = bell.version
        gate.open()
        await bell.wait(version, SECONDS_MAX)
        assert bell.version > version
        assert await kept(server) == []


async def test_only_what_a_person_states_is_kept_by_rules(server: Server, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text("Noted.")
    for kind in ("hook", "external_user"):
        await server.settled(await server.say(MAIN, f"We decided to use oil paint, says {kind}.", kind=kind))
    assert await kept(server) == [("session:main:main", "We decided to use oil paint, says external_user.")]


async def taken(server: Server) -> Extraction:
    """Return the turn that a model is to be asked about later, as another server would have it now."""

    def take(tx: Tx) -> Extraction:
        tx.run("UPDATE extractions SET due_at = 0")
        (item,) = extractions_due(tx, 10)
        tx.run("UPDATE extractions SET due_at = :later", later=tx.now + MS_PER_DAY)
        return item

    return await server.db.write(take)


async def test_a_model_that_fails_three_times_is_not_asked_again(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = answering(http_error(503))
    async with open_server(sqlite_url, gateways_to(gateway), BY_MODEL) as server:
        await server.ask("hello")
        await until_asked(server)
        for attempt, left in ((1, 1), (2, 0)):
            item = await taken(server)
            assert item.attempt == attempt
            await Extractions(server.db, server.connections).do(item)
            assert await server.read(lambda tx: tx.one("SELECT count(*) FROM extractions")) == (left,)


async def test_a_turn_that_two_servers_have_asked_about_is_kept_once(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = answering(http_error(503))
    async with open_server(sqlite_url, gateways_to(gateway), BY_MODEL) as server:
        await server.ask("hello")
        await until_asked(server)
        item = await taken(server)
        for content in ("One.", "Two."):
            gateway.rule = answering(text(listing(("fact", content))))
            await Extractions(server.db, server.connections).do(item)
        assert [fact for _, fact in await kept(server)] == ["One."]

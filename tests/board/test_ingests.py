"""Entries that are accepted at once and stored soon after, whatever happens in between."""

import asyncio

import pytest
from msgspec import structs

from carrel.board import Ingests, LogSource, NewLog, accept, record
from carrel.journal.store import entries_since
from carrel.kernel import Code, Refusal, ToolVisibility, limits
from carrel.kernel.limits import INGEST_RETRY_SECONDS
from carrel.kernel.settings import IntakeSettings
from tests.harness.engine import MAIN, Engine, open_engine
from tests.requirements.mark import requirement


def line(text: str, **more: str) -> NewLog:
    return NewLog(type="conversation", content=text, **more)  # type: ignore[arg-type]


async def send(engine: Engine, *logs: NewLog) -> None:
    await engine.db.write(lambda tx: accept(tx, engine.access, logs, IntakeSettings()))


async def stored(engine: Engine) -> list[str]:
    return [one.content for one in await engine.db.read(lambda tx: entries_since(tx, engine.access, 0, limit=1000))]


@requirement("S4.api.ingest")
async def test_accepted_entries_outlive_the_server_that_accepted_them(sqlite_url: str) -> None:
    async with open_engine(sqlite_url) as engine:
        await send(engine, *(line(f"line {n}") for n in range(250)))
        said_at = engine.clock.now_ms()
        assert await stored(engine) == []
    async with open_engine(sqlite_url) as engine:
        engine.advance(3600)
        while not await Ingests(engine.db).round():
            pass
        assert await stored(engine) == [f"line {n}" for n in range(250)]
        found = await engine.db.read(lambda tx: entries_since(tx, engine.access, 0, limit=1000))
        assert {entry.created_at for entry in found} == {said_at}


async def test_what_is_refused_later_holds_back_nothing(engine: Engine) -> None:
    await send(engine, line("one"), line("lost", topic_id="nowhere"), line("two"))
    await Ingests(engine.db).round()
    assert await stored(engine) == ["one", "two"]
    assert (
        await engine.db.read(lambda tx: tx.all("SELECT 1 FROM ingests WHERE account_id = :account", engine.access))
        == []
    )


async def test_more_entries_than_may_wait_are_refused_together(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INGEST_WAITING_MAX", 3)
    await send(engine, line("one"))
    with pytest.raises(Refusal) as refused:
        await send(engine, *(line(f"more {n}") for n in range(3)))
    assert (refused.value.code, refused.value.retry_after_seconds) == (Code.QUEUE_FULL, INGEST_RETRY_SECONDS)
    await send(engine, line("two"), line("three"))
    with pytest.raises(Refusal):
        await send(engine, line("four"))
    await Ingests(engine.db).round()
    assert await stored(engine) == ["one", "two", "three"]
    await send(engine, line("four"))


async def test_two_servers_store_each_entry_once_and_in_order(postgres_url: str) -> None:
    async with open_engine(postgres_url) as engine:
        await send(engine, *(line(f"line {n}") for n in range(300)))
        await asyncio.gather(*(Ingests(engine.db).do(engine.access.account_id) for _ in range(8)))
        assert await stored(engine) == [f"line {n}" for n in range(300)]


async def test_the_same_entry_from_two_requests_at_once_is_stored_once(engine: Engine) -> None:
    log = NewLog(type="conversation", content="yes", source=LogSource(channel="discord", message_id="m-1"))
    results = await asyncio.gather(*(engine.db.write(lambda tx: record(tx, engine.access, log)) for _ in range(8)))
    assert sorted(repeated for _, repeated in results) == [False] + [True] * 7
    assert len({entry.id for entry, _ in results}) == 1


async def test_an_agents_note_is_stored_with_the_view_that_it_had(engine: Engine) -> None:
    view = ToolVisibility(mode="self", key=MAIN, rule="tools.sessions.visibility is self")
    agent = structs.replace(engine.access, kind="agent", agent_id="main", view=view)
    hidden, _ = await engine.db.write(lambda tx: record(tx, engine.access, line("unsorted")))
    note = NewLog(type="note", content="seen", related_id=hidden.id)
    await engine.db.write(lambda tx: accept(tx, agent, [note], IntakeSettings()))
    await Ingests(engine.db).round()
    assert await stored(engine) == ["unsorted"]
    with pytest.raises(Refusal, match="may send notes"):
        await engine.db.write(lambda tx: accept(tx, agent, [line("free")], IntakeSettings()))

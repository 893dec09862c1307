"""A spawn with files within a turn: made once wherever the worker dies, and with a yes where one is needed."""

import json
import logging
from pathlib import Path

import pytest

from carrel.agents import ToolRules
from carrel.outbox import keep_reply_address
from carrel.runs import answer
from tests.delivery.test_turn import live_through
from tests.exchanges.plays import Play, spawn
from tests.harness.engine import words
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway
from tests.tools.spawning import settings_in

# The transactions of a turn that makes one call.
WRITES = 5
# The one before which a thread has just been opened.
OPENING = 2
SECRET = "TOP SECRET SHEEP"
SPAWN = spawn({"task": "count", "attachments": [{"name": "sheep.txt", "content": SECRET}]})


def folders_in(server: Server, folder: Path, agent: str = "main") -> list[Path]:
    """The folders of attachments that lie in an agent's workspace."""
    attachments = folder / "workspaces" / server.access.account_id / agent / ".openclaw" / "attachments"
    return list(attachments.iterdir()) if attachments.exists() else []


async def children(server: Server) -> list[str]:
    rows = await server.read(lambda tx: tx.all("SELECT key FROM lanes WHERE kind = 'subagent'"))
    return [row[0].rpartition(":")[2] for row in rows]


async def kept_aside(server: Server) -> list[bytes]:
    return [bytes(row[0]) for row in await server.read(lambda tx: tx.all("SELECT content FROM attachments"))]


@requirement("S0.x.tools.once", "S2.spawn.attachments.atomic", "S2.spawn.attachments.redacted")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES))
async def test_a_spawn_is_made_at_most_once_with_its_files_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, tmp_path: Path, writes: int, after: bool
) -> None:
    Play(gateway)
    async with open_server(store_url, gateways_to(gateway), settings_in(tmp_path), working=False) as server:
        await server.send(SPAWN)
        await live_through(server, [(writes, after)])
        made = await children(server)
        placed = folders_in(server, tmp_path)
        assert len(made) == 1
        assert [path.name for path in placed] == made, "no folder without a child, and no child without its folder"
        assert (placed[0] / "sheep.txt").read_text() == SECRET
        assert await kept_aside(server) == [], "what was kept for the call went with it"


class Forum:
    """A channel with threads."""

    def __init__(self) -> None:
        self.opened = 0

    async def open(self, place: str, _name: str) -> str:
        self.opened += 1
        return f"{place}:{self.opened}"


async def say_in_forum(server: Server, said: str) -> Forum:
    """Say something at a place of a channel with threads."""
    forum = Forum()
    channel_threads = server.services.channel_threads
    assert isinstance(channel_threads, dict)
    channel_threads["telegram"] = forum.open
    run = await server.send(said, channel="telegram")
    await server.db.write(lambda tx: keep_reply_address(tx, server.access, run.id, "telegram", "-42"))
    return forum


async def threads(server: Server) -> list[str]:
    """The places of those who were spawned."""
    rows = await server.read(lambda tx: tx.all("SELECT last_to FROM lanes WHERE kind = 'subagent' ORDER BY last_to"))
    return [row[0] for row in rows]


@requirement("S0.x.tools.once", "S2.spawn.thread")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES + 1))
async def test_a_thread_is_opened_once_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, writes: int, after: bool
) -> None:
    Play(gateway)
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        forum = await say_in_forum(server, spawn({"task": "count", "thread": True}))
        await live_through(server, [(writes, after)])
        # Only a death between the opening and the writing down of it leaves one that nobody knows of.
        is_lost = (writes, after) == (OPENING, False)
        assert forum.opened == 1 + is_lost
        assert await threads(server) == [f"-42:{forum.opened}"]


async def test_spawns_of_the_same_name_have_threads_of_their_own(sqlite_url: str, gateway: ScriptedGateway) -> None:
    Play(gateway)
    async with open_server(sqlite_url, gateways_to(gateway), working=False) as server:
        forum = await say_in_forum(server, spawn(*[{"task": "count", "thread": True}] * 3))
        await live_through(server, [])
        assert forum.opened == 3
        assert await threads(server) == ["-42:1", "-42:2", "-42:3"]


@requirement("P.tool.ask", "S2.spawn.attachments.redacted")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_spawn_that_must_be_agreed_to_places_its_files_with_the_yes_and_not_before(
    store_url: str, gateway: ScriptedGateway, tmp_path: Path, approved: bool
) -> None:
    Play(gateway)
    async with open_server(store_url, gateways_to(gateway), settings_in(tmp_path)) as server:
        await server.make_agent("careful", tools=ToolRules(ask=("sessions_spawn",)))
        run = await server.ask(SPAWN, agent="careful")
        assert (run.state, run.waiting_for) == ("waiting", "approval")
        assert "sheep.txt" in (run.question or "")
        assert SECRET not in (run.question or ""), "who is asked sees the call as it is kept"
        assert folders_in(server, tmp_path, "careful") == []
        await server.kill()
        server.start()
        await server.db.write(lambda tx: answer(tx, server.access, run.id, words("well"), approved=approved))
        ended = await server.settled(run)
        (result,) = [entry.content for entry in await server.entries(run) if entry.role == "toolResult"]
        assert ended.state == "completed"
        assert json.loads(result).get("status") == ("accepted" if approved else None)
        assert len(await children(server)) == approved
        assert await kept_aside(server) == []
        entries = await server.read(lambda tx: tx.all("SELECT details FROM entries"))
        assert SECRET not in str(entries)


@requirement("S2.spawn.label")
async def test_the_label_of_a_child_is_in_the_log(
    sqlite_url: str, gateway: ScriptedGateway, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="carrel.delivery")
    Play(gateway)
    async with open_server(sqlite_url, gateways_to(gateway), settings_in(tmp_path)) as server:
        await server.ask(spawn({"task": "count", "label": "sheep"}))
        query = "SELECT 1 FROM runs WHERE provenance_kind = 'spawn' AND state = 'completed'"
        await server.until(lambda tx: tx.one(query) is not None)
        (child,) = await children(server)
    begun = [record.__dict__ for record in caplog.records if record.getMessage() == "turn_started"]
    # The child's first turn; what it says when it hands back its result is a turn of its own.
    labels = {one["session_key"].rpartition(":")[2]: one.get("label") for one in reversed(begun)}
    assert labels == {"main": None, child: "sheep"}

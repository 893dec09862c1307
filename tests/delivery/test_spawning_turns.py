"""A spawn with files within a turn: made once wherever the worker dies, and with a yes where one is needed."""

import json
from pathlib import Path

import pytest

from carrel.agents import ToolRules
from carrel.outbox import keep_reply_address
from carrel.runs import answer
from tests.delivery.floor import Floor, open_floor, to
from tests.delivery.plays import Play, spawn
from tests.delivery.test_resuming import live_through
from tests.engine import words
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway
from tests.tools.spawning import settings_in

pytestmark = pytest.mark.anyio
# The transactions of a turn that makes one call.
WRITES = 5
# The one before which a thread has just been opened.
OPENING = 2
SECRET = "TOP SECRET SHEEP"
SPAWN = spawn({"task": "count", "attachments": [{"name": "sheep.txt", "content": SECRET}]})


def folders_in(floor: Floor, folder: Path, agent: str = "main") -> list[Path]:
    """The folders of attachments that lie in an agent's workspace."""
    attachments = folder / "workspaces" / floor.access.account_id / agent / ".openclaw" / "attachments"
    return list(attachments.iterdir()) if attachments.exists() else []


async def children(floor: Floor) -> list[str]:
    rows = await floor.read(lambda tx: tx.all("SELECT key FROM lanes WHERE kind = 'subagent'"))
    return [row[0].rpartition(":")[2] for row in rows]


async def kept_aside(floor: Floor) -> list[bytes]:
    return [bytes(row[0]) for row in await floor.read(lambda tx: tx.all("SELECT content FROM attachments"))]


@requirement("S0.x.tools.once", "S2.spawn.attachments.atomic", "S2.spawn.attachments.redacted")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES))
async def test_a_spawn_is_made_at_most_once_with_its_files_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, tmp_path: Path, writes: int, after: bool
) -> None:
    Play(gateway)
    async with open_floor(store_url, to(gateway), settings_in(tmp_path), working=False) as floor:
        await floor.say(SPAWN)
        await live_through(floor, [(writes, after)])
        made = await children(floor)
        placed = folders_in(floor, tmp_path)
        assert len(made) == 1
        assert [path.name for path in placed] == made, "no folder without a child, and no child without its folder"
        assert (placed[0] / "sheep.txt").read_text() == SECRET
        assert await kept_aside(floor) == [], "what was kept for the call went with it"


class Forum:
    """A channel with threads."""

    def __init__(self) -> None:
        self.opened = 0

    async def open(self, place: str, _name: str) -> str:
        self.opened += 1
        return f"{place}:{self.opened}"


async def say_in_forum(floor: Floor, said: str) -> Forum:
    """Say something at a place of a channel with threads."""
    forum = Forum()
    floor.side_rooms["telegram"] = forum.open
    run = await floor.say(said, channel="telegram")
    await floor.db.write(lambda tx: keep_reply_address(tx, floor.access, run.id, "telegram", "-42"))
    return forum


async def threads(floor: Floor) -> list[str]:
    """The places of those who were spawned."""
    rows = await floor.read(lambda tx: tx.all("SELECT last_to FROM lanes WHERE kind = 'subagent' ORDER BY last_to"))
    return [row[0] for row in rows]


@requirement("S0.x.tools.once", "S2.spawn.thread")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(WRITES + 1))
async def test_a_thread_is_opened_once_wherever_the_turn_died(
    store_url: str, gateway: ScriptedGateway, writes: int, after: bool
) -> None:
    Play(gateway)
    async with open_floor(store_url, to(gateway), working=False) as floor:
        forum = await say_in_forum(floor, spawn({"task": "count", "thread": True}))
        await live_through(floor, [(writes, after)])
        # Only a death between the opening and the writing down of it leaves one that nobody knows of.
        is_lost = (writes, after) == (OPENING, False)
        assert forum.opened == 1 + is_lost
        assert await threads(floor) == [f"-42:{forum.opened}"]


async def test_spawns_of_the_same_name_have_threads_of_their_own(sqlite_url: str, gateway: ScriptedGateway) -> None:
    Play(gateway)
    async with open_floor(sqlite_url, to(gateway), working=False) as floor:
        forum = await say_in_forum(floor, spawn(*[{"task": "count", "thread": True}] * 3))
        await live_through(floor, [])
        assert forum.opened == 3
        assert await threads(floor) == ["-42:1", "-42:2", "-42:3"]


@requirement("P.tool.ask", "S2.spawn.attachments.redacted")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_spawn_that_must_be_agreed_to_places_its_files_with_the_yes_and_not_before(
    store_url: str, gateway: ScriptedGateway, tmp_path: Path, approved: bool
) -> None:
    Play(gateway)
    async with open_floor(store_url, to(gateway), settings_in(tmp_path)) as floor:
        await floor.agent("careful", tools=ToolRules(ask=("sessions_spawn",)))
        run = await floor.ask(SPAWN, agent="careful")
        assert (run.state, run.waiting_for) == ("waiting", "approval")
        assert "sheep.txt" in (run.question or "")
        assert SECRET not in (run.question or ""), "who is asked sees the call as it is kept"
        assert folders_in(floor, tmp_path, "careful") == []
        await floor.kill()
        floor.start()
        await floor.db.write(lambda tx: answer(tx, floor.access, run.id, words("well"), approved=approved))
        ended = await floor.rest(run)
        (result,) = [entry.content for entry in await floor.entries(run) if entry.role == "toolResult"]
        assert ended.state == "completed"
        assert json.loads(result).get("status") == ("accepted" if approved else None)
        assert len(await children(floor)) == approved
        assert await kept_aside(floor) == []
        entries = await floor.read(lambda tx: tx.all("SELECT details FROM entries"))
        assert SECRET not in str(entries)

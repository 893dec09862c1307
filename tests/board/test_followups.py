"""Follow-ups: when delegated runs are looked after, who is told, and that no lane has a turn for it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from carrel.board import followup_duty, observe_delegated_runs
from carrel.board.followups import Position, position_at
from carrel.board.store import FOLLOWUPS
from carrel.journal import Entry, entries_of_session
from carrel.kernel import MS_PER_MINUTE, SessionKey
from carrel.kernel.settings import FollowupsSettings
from carrel.notifications import OWNERS, newest_notifications
from carrel.runs import Claim, Failed, NeedsInput
from carrel.sessions import close_generation, open_session_of
from carrel.storage import Tx
from tests.exchanges.plays import Play, spawn
from tests.exchanges.talks import TELLER, Talk, open_talk
from tests.harness.engine import START_MS, events_of_run
from tests.harness.server import gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, text
from tests.tools.spawning import settings_in
from tests.work.desk import Desk, open_desk

LADDER = FollowupsSettings()


class Watched:
    """A requester that has handed work over, and the duty that looks after it."""

    def __init__(self, talk: Talk, settings: FollowupsSettings) -> None:
        self.talk = talk
        self.engine = talk.engine
        self.duty = followup_duty(self.engine.db, settings)

    async def hand_over(self) -> str:
        """Send something to the other agent without waiting; return the run's id."""
        await self.talk.call(timeoutSeconds=0)
        return self.talk.first

    async def start(self) -> Claim:
        """Let the other agent start its run."""
        (held,) = await self.engine.take(lease_ms=24 * 60 * MS_PER_MINUTE)
        await self.engine.start_turn(held)
        return held

    async def at(self, minutes: float) -> None:
        """Let the duty look, that long after the beginning."""
        now = (self.engine.clock.now_ms() - START_MS) / MS_PER_MINUTE
        self.engine.advance((minutes - now) * 60)
        while await self.duty.round() == 0:
            pass

    async def progress(self, run_id: str) -> list[dict[str, Any]]:
        """Return the data of the run's progress events."""
        events = await self.engine.read(lambda tx: events_of_run(tx, self.engine.access, run_id))
        return [json.loads(event.body) for event in events if event.name == "run.progress"]

    async def said(self) -> list[Entry]:
        """Return the system entries of the requester's session."""

        def read(tx: Tx) -> list[Entry]:
            session = open_session_of(tx, self.engine.access, str(self.talk.asker))
            assert session is not None
            return entries_of_session(tx, self.engine.access, session.id, limit=100)

        return [entry for entry in await self.engine.read(read) if entry.type == "system"]

    async def notified(self) -> list[str]:
        """Return the titles of the owners' progress notifications, newest first."""
        access = self.engine.access
        found = await self.engine.read(lambda tx: newest_notifications(tx, access, OWNERS, limit=100))
        return [one.title for one in found if one.type == "progress"]


@pytest.fixture
async def watched(store_url: str) -> AsyncIterator[Watched]:
    async with open_talk(store_url, working=False) as talk:
        observe_delegated_runs(talk.engine.db, LADDER)
        yield Watched(talk, LADDER)


@requirement("S4.follow.cadence")
def test_the_checks_come_at_the_rungs_of_the_ladder_and_then_every_hour() -> None:
    due, at = [], 0
    for _ in range(9):
        at = position_at(LADDER.ladder_minutes, at).next_ms
        due.append(at / MS_PER_MINUTE)
    assert due == [1, 3, 10, 15, 30, 60, 120, 180, 240]
    checks = [position_at(LADDER.ladder_minutes, int(minutes * MS_PER_MINUTE)).check for minutes in due]
    assert checks == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_checks_that_were_missed_collapse_into_one() -> None:
    assert position_at(LADDER.ladder_minutes, 29 * MS_PER_MINUTE) == Position(4, 30 * MS_PER_MINUTE)
    assert position_at((0.02,), 10 * MS_PER_MINUTE).next_ms == 10 * MS_PER_MINUTE + 1_200


@requirement("S4.follow.cadence", "S4.follow.progress")
async def test_a_long_run_is_reported_to_its_requester_and_to_people_at_each_check(watched: Watched) -> None:
    run_id = await watched.hand_over()
    await watched.start()
    for minutes in (1, 2, 3, 9):
        await watched.at(minutes)
    assert await watched.said() == []
    assert await watched.notified() == []
    await watched.at(10)
    (entry,) = await watched.said()
    assert entry.content == ("Teller is still working on: how many?\nIt was handed over 10 minutes ago and is running.")
    assert (entry.author, entry.role, entry.key) == ("system", "system", str(watched.talk.asker))
    assert await watched.notified() == ["Teller is still working on: how many?"]
    await watched.at(14)
    assert len(await watched.said()) == 1
    for minutes in (15, 30, 60, 120):
        await watched.at(minutes)
    assert len(await watched.said()) == len(await watched.notified()) == 5
    assert [(told["check"], told["elapsedSeconds"]) for told in await watched.progress(run_id)][1:] == [
        (3, 600),
        (4, 900),
        (5, 1800),
        (6, 3600),
        (7, 7200),
    ]


async def test_a_check_that_two_servers_have_taken_is_made_once(watched: Watched) -> None:
    run_id = await watched.hand_over()
    await watched.start()
    watched.engine.advance(60)
    taken = [await watched.engine.read(lambda tx: watched.duty.take(tx, 10)) for _ in range(2)]
    # The state has changed again, which a second check would report.
    sql = "UPDATE runs SET attempt = attempt + 1 WHERE account_id = :account AND id = :id"
    for (item,) in taken:
        await watched.engine.db.write(lambda tx: tx.run(sql, watched.engine.access, id=run_id))
        await watched.duty.do(item)
    assert len(await watched.progress(run_id)) == 1


@requirement("S4.follow.progress")
async def test_a_run_is_long_from_the_very_minute_that_the_settings_name(store_url: str) -> None:
    settings = FollowupsSettings(ladder_minutes=(4, 5), progress_after_minutes=5)
    async with open_talk(store_url, working=False) as talk:
        observe_delegated_runs(talk.engine.db, settings)
        watched = Watched(talk, settings)
        await watched.hand_over()
        for minutes, told in ((4, 0), (5, 1)):
            await watched.at(minutes)
            assert len(await watched.notified()) == told


@requirement("S4.x.follow.nolane")
async def test_before_five_minutes_only_a_change_is_reported_and_only_as_an_event(watched: Watched) -> None:
    run_id = await watched.hand_over()
    await watched.at(1)
    assert await watched.progress(run_id) == []
    await watched.start()
    await watched.at(3)
    (told,) = await watched.progress(run_id)
    assert told == {
        "elapsedSeconds": 180,
        "check": 2,
        "note": "It was handed over 3 minutes ago and is running.",
    }
    assert await watched.said() == []


@requirement("S4.x.follow.nolane")
async def test_a_follow_up_starts_no_run_and_ends_with_the_run_that_it_watches(watched: Watched) -> None:
    await watched.hand_over()
    held = await watched.start()
    await watched.at(10)
    assert [run.id for run in await watched.engine.runs(TELLER)] == [held.id]
    assert len(await watched.engine.runs(watched.talk.asker)) == 1
    await watched.engine.end(held)
    assert await watched.engine.read(FOLLOWUPS.next_due) is None
    await watched.at(15)
    assert len(await watched.said()) == 1


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (NeedsInput(question="Which?"), "and is waiting for input."),
        (Failed(code="busy", message="busy", retryable=True), "and is waiting for its next attempt."),
    ],
    ids=["waiting", "retried"],
)
async def test_a_run_that_waits_is_looked_after_too(
    watched: Watched, outcome: NeedsInput | Failed, words: str
) -> None:  # fmt: skip
    await watched.hand_over()
    await watched.engine.end(await watched.start(), outcome)
    await watched.at(10)
    (entry,) = await watched.said()
    assert entry.content.endswith(words)


async def test_nothing_is_written_into_a_session_that_has_ended(watched: Watched) -> None:
    await watched.hand_over()
    await watched.start()
    await watched.talk.end_turn()
    access, key = watched.engine.access, watched.talk.asker
    closed = await watched.engine.db.write(lambda tx: close_generation(tx, access, key, "reset"))
    assert closed is not None
    await watched.at(10)
    entries = await watched.engine.read(lambda tx: entries_of_session(tx, access, closed.id, limit=10))
    assert [entry for entry in entries if entry.type == "system"] == []
    assert len(await watched.notified()) == 1


@requirement("S4.follow.cadence")
async def test_a_spawned_run_is_looked_after(watched: Watched) -> None:
    assert watched.talk.own is not None
    child = SessionKey.of("teller", "subagent:1")
    run = await watched.engine.say(child, "count the sheep", kind="spawn", parent_run_id=watched.talk.own.id)
    await watched.at(10)
    assert [told["check"] for told in await watched.progress(run.id)] == [3]
    assert len(await watched.said()) == 1


async def test_a_run_that_a_person_started_is_not_looked_after(watched: Watched) -> None:
    await watched.engine.say(TELLER, "how many?")
    assert await watched.engine.read(FOLLOWUPS.next_due) is None


async def test_an_empty_ladder_looks_after_nothing(store_url: str) -> None:
    off = FollowupsSettings(ladder_minutes=())
    async with open_talk(store_url, working=False) as talk:
        observe_delegated_runs(talk.engine.db, off)
        await Watched(talk, off).hand_over()
        assert await talk.engine.read(FOLLOWUPS.next_due) is None


@requirement("S4.follow.cadence")
async def test_a_requested_response_is_looked_after_and_other_notices_are_not(store_url: str) -> None:
    async with open_desk(store_url) as desk:
        observe_delegated_runs(desk.db, LADDER)
        task = await desk.create("writer")
        assert await desk.read(FOLLOWUPS.next_due) is None, "an assignment hands nothing over"
        await desk.work_off()
        asked = await desk.request(task, "critic", access=desk.agent("writer"))
        desk.advance(600)
        assert await followup_duty(desk.db, LADDER).round() == 0
        assert await _names(desk, asked.requested[0].run_id) == ["run.queued", "run.progress"]


async def _names(desk: Desk, run_id: str) -> list[str]:
    events = await desk.read(lambda tx: events_of_run(tx, desk.access, run_id))
    return [event.name for event in events if event.name.startswith("run.")]


@requirement("S4.follow.progress")
async def test_a_server_tells_the_session_that_spawned_while_its_child_works(
    sqlite_url: str, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    short = FollowupsSettings(ladder_minutes=(0.01,), progress_after_minutes=0)
    settings = structs.replace(settings_in(tmp_path), followups=short)
    gate, play = Gate(), Play(gateway)
    play.child = text("twelve sheep", before=gate)
    async with open_server(sqlite_url, gateways_to(gateway), settings) as server:
        asked = await server.ask(spawn({"task": "count the sheep"}))
        access, session_id = server.access, asked.session_id or ""

        def is_told(tx: Tx) -> bool:
            found = entries_of_session(tx, access, session_id, limit=100)
            return any(entry.content.startswith("Main is still working on: count the sheep") for entry in found)

        await server.until(is_told)
        gate.open()

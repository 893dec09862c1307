"""A result that cannot be delivered: retried for half an hour, then shown as undelivered, never dropped."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import structs

from carrel.agents import agent_by_id
from carrel.exchanges import Exchange, Exchanges, exchange_after, redeliver
from carrel.exchanges.store import EXCHANGES
from carrel.kernel import SessionKey
from carrel.notifications import OWNERS, newest_notifications
from carrel.notifications.model import Notification
from carrel.outbox import ChannelFault, ChannelMessage
from carrel.runs import Completed, Failed, NeedsInput, Outcome, remove_lane, retry, run_by_id
from carrel.runs.model import Cancelled
from carrel.runs.queue_store import next_due
from carrel.sessions import LaneChange, change_lane, lane_of, make_lane
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, ToolServices, caller_at, lock_caller, prepare_call
from tests.harness.engine import MAIN, Engine, events_of_run, open_engine, until_found
from tests.requirements.mark import requirement
from tests.tools.spawning import settings_in

ROOM = SessionKey.of("main", "telegram:group:42")


class FakeChannel:
    """A channel that accepts posts, or does not."""

    def __init__(self) -> None:
        self.is_down = False
        self.posts: list[ChannelMessage] = []

    async def post(self, post: ChannelMessage) -> None:
        if self.is_down:
            raise ChannelFault("the channel is closed")
        self.posts.append(post)


class Spawn:
    """A spawn whose turns the test ends, on a clock that stands still."""

    def __init__(self, engine: Engine, folder: Path, requester: SessionKey) -> None:
        self.engine = engine
        self.requester = requester
        self.services = ToolServices(settings=settings_in(folder), rules=engine.rules)
        self.posts = FakeChannel()
        self.run_id = ""

    async def spawn(self, cleanup: str = "keep") -> None:
        """Spawn a child from the requester's lane."""
        access = structs.replace(self.engine.access, kind="agent", actor_id="main", agent_id="main")
        await self.engine.db.write(lambda tx: make_lane(tx, self.engine.access, self.requester))

        def sit(tx: Tx) -> Caller:
            agent, lane = agent_by_id(tx, access, "main"), lane_of(tx, access, self.requester)
            assert agent is not None
            assert lane is not None
            return caller_at(tx, self.services, access, agent, lane)

        caller, written = await self.engine.db.read(sit), json.dumps({"task": "count", "cleanup": cleanup})
        tool = CATALOG.find("sessions_spawn")
        async with prepare_call(self.engine.db, CATALOG, caller, tool.name, written) as prepared:
            assert prepared is not None
            params = prepared.params

            def act(tx: Tx) -> str:
                lock_caller(tx, caller, prepared)
                return str(tool.act(tx, caller, params).value["runId"])

            self.run_id = await self.engine.db.write(act)

    async def end(self, outcome: Outcome) -> str:
        """End the next due run; return it."""
        await self.engine.until(lambda tx: (next_due(tx) or tx.now + 1) <= tx.now)
        (taken,) = await self.engine.take(1)
        run = await self.engine.run(taken.id)
        await self.engine.end(taken, outcome)
        return run.text

    async def until(self, holds: Callable[[Exchange], bool]) -> Exchange:
        """Return the exchange once it satisfies a condition."""

        async def look() -> Exchange:
            exchange = await self.engine.read(lambda tx: exchange_after(tx, self.engine.access, self.run_id))
            assert exchange is not None
            return exchange

        return await until_found(look, holds)

    async def until_gone(self, key: SessionKey) -> None:
        """Wait until a lane no longer exists."""
        await self.engine.until(lambda tx: lane_of(tx, self.engine.access, key) is None)

    async def ended(self) -> Exchange:
        return await self.until(lambda exchange: exchange.state != "open")

    async def told(self) -> list[Notification]:
        """Return the notifications of the owners, newest first."""
        return await self.engine.db.read(lambda tx: newest_notifications(tx, self.engine.access, OWNERS, limit=50))

    async def allow(self, policy: str | None) -> None:
        """Allow or deny messages to the requester's lane."""
        change = LaneChange(send_policy=policy)  # type: ignore[arg-type]
        await self.engine.db.write(lambda tx: change_lane(tx, self.engine.access, self.requester, change))

    async def offered(self) -> list[int]:
        """Let time pass until it is given up; return the seconds between attempts."""
        waited: list[int] = []
        while True:
            seen = len(waited)
            found = await self.until(lambda exchange, n=seen: exchange.state != "open" or exchange.attempts > n)  # type: ignore[misc]
            if found.state != "open":
                return waited
            assert found.due_at is not None
            waited.append((found.due_at - self.engine.clock.now_ms()) // 1000)
            self.engine.advance(waited[-1])
            self.engine.db.bell(EXCHANGES).ring()

    async def redeliver(self) -> None:
        """Redeliver it, as a person does."""

        def work(tx: Tx) -> None:
            run = run_by_id(tx, self.engine.access, self.run_id)
            assert run is not None
            redeliver(tx, self.engine.access, run)

        await self.engine.db.write(work)


@asynccontextmanager
async def open_spawn(url: str, folder: Path, requester: SessionKey = MAIN) -> AsyncIterator[Spawn]:
    async with open_engine(url) as engine:
        spawn = Spawn(engine, folder, requester)
        serving = asyncio.create_task(
            Exchanges(engine.db, spawn.services.settings, spawn.services.rules, {"telegram": spawn.posts}).serve()
        )
        try:
            yield spawn
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


@requirement("S2.x.result.kept")
async def test_a_refused_result_is_retried_for_half_an_hour_and_can_be_delivered_later(
    store_url: str, tmp_path: Path
) -> None:
    async with open_spawn(store_url, tmp_path) as spawn:
        await spawn.spawn(cleanup="delete")
        await spawn.end(Completed(reply="twelve"))
        await spawn.allow("deny")
        await spawn.end(Completed(reply="one a goat"))
        assert await spawn.offered() == [15, 30, 60, 120, 240, 300, 300, 300, 300]
        given_up = await spawn.ended()
        assert (given_up.state, given_up.step) == ("undelivered", "handover")
        assert "denied" in (given_up.error or "")
        assert "Result: twelve\nNotes: one a goat" in (given_up.announcement or "")
        child = await spawn.engine.run(spawn.run_id)
        assert child.reply == "twelve", "the result itself was safe all the while"
        await spawn.allow(None)
        await spawn.redeliver()
        assert await spawn.end(Completed(reply="thanks")) == given_up.announcement
        told = await spawn.engine.db.read(lambda tx: events_of_run(tx, spawn.engine.access, spawn.run_id))
        names = [event.name for event in told if event.name.startswith("announce")]
        assert names == ["announce.undelivered", "announce.delivered"]
        (notice,) = await spawn.told()
        assert (notice.type, notice.run_id, notice.key) == ("run_undelivered", spawn.run_id, child.key)
        assert notice.title == "Main could not deliver: count"
        assert notice.body.startswith(f"It did not reach {MAIN}: ")
        assert "denied" in notice.body


@requirement("S2.spawn.cleanup")
async def test_a_child_to_delete_stays_until_its_retry_is_announced(store_url: str, tmp_path: Path) -> None:
    async with open_spawn(store_url, tmp_path) as spawn:
        await spawn.spawn(cleanup="delete")
        await spawn.allow("deny")
        await spawn.end(Failed(code="broken", message="It broke."))
        await spawn.until(lambda exchange: exchange.attempts == 1)
        first = await spawn.engine.run(spawn.run_id)
        again = await spawn.engine.db.write(lambda tx: retry(tx, spawn.engine.access, first, spawn.engine.rules))
        await spawn.allow(None)
        spawn.engine.advance(15)
        spawn.engine.db.bell(EXCHANGES).ring()
        assert (await spawn.ended()).state == "delivered"
        replies = ("twelve", "what a pity", "one a goat", "thanks")
        work, failure, _, result = [await spawn.end(Completed(reply=reply)) for reply in replies]
        await spawn.until_gone(again.session_key)
        assert (work, failure.splitlines()[0]) == ("count", "Status: failed: It broke.")
        assert result.startswith("Status: completed\nResult: twelve\nNotes: one a goat\n")


@requirement("S2.spawn.cleanup")
async def test_a_child_to_delete_is_deleted_even_if_its_notes_had_to_be_stopped(store_url: str, tmp_path: Path) -> None:
    async with open_spawn(store_url, tmp_path) as spawn:
        await spawn.spawn(cleanup="delete")
        await spawn.end(Completed(reply="twelve"))
        await spawn.until(lambda exchange: exchange.step == "announce")
        (notes,) = await spawn.engine.take(1)
        await spawn.engine.db.write(lambda tx: tx.run("UPDATE runs SET lease_until = lease_until + 240000"))
        asked = await spawn.until(lambda exchange: exchange.step == "announce")
        spawn.engine.advance(240)
        spawn.engine.db.bell(EXCHANGES).ring()
        await spawn.until(lambda exchange: exchange.due_at != asked.due_at)
        assert (await spawn.engine.run(notes.id)).stopping == "expired"
        await spawn.engine.end(notes, Completed(reply="too late"))
        assert "\nResult: twelve\nNotes: none\n" in await spawn.end(Completed(reply="thanks"))
        await spawn.until_gone(notes.session_key)


@requirement("S2.subannounce.posts")
async def test_a_result_is_posted_on_the_requesters_channel(store_url: str, tmp_path: Path) -> None:
    async with open_spawn(store_url, tmp_path, ROOM) as spawn:
        await spawn.spawn()
        await spawn.end(Completed(reply="twelve"))
        await spawn.end(Completed(reply="NO_REPLY"))
        ended = await spawn.ended()
        (post,) = spawn.posts.posts
        assert (post.text, post.key) == (ended.announcement, ROOM)
        assert "Result: twelve\nNotes: none" in post.text
        assert ended.state == "delivered"


@requirement("S2.x.result.kept")
async def test_a_failing_channel_leaves_the_result_visible_and_in_the_lane_once(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_spawn(sqlite_url, tmp_path, ROOM) as spawn:
        spawn.posts.is_down = True
        await spawn.spawn()
        await spawn.end(Completed(reply="twelve"))
        await spawn.end(Completed(reply="noted"))
        assert await spawn.offered() == [15, 30, 60, 120, 240, 300, 300, 300, 300]
        assert (await spawn.ended()).state == "undelivered"
        spawn.posts.is_down = False
        await spawn.redeliver()
        assert (await spawn.ended()).state == "delivered"
        assert len(spawn.posts.posts) == 1
        assert len(await spawn.engine.live(ROOM)) == 1, "in the lane it is there from the first time on"


@requirement("S2.x.result.kept")
async def test_redelivering_a_result_creates_a_deleted_lane_again(store_url: str, tmp_path: Path) -> None:
    async with open_spawn(store_url, tmp_path) as spawn:
        await spawn.spawn()
        await spawn.end(Completed(reply="twelve"))
        await spawn.until(lambda exchange: exchange.step == "announce")
        access = spawn.engine.access
        lane = await spawn.engine.db.read(lambda tx: lane_of(tx, access, MAIN))
        assert lane is not None
        # The announce step is stopped with the parent lane; the result existed before.
        await spawn.engine.db.write(lambda tx: remove_lane(tx, access, lane))
        given_up = await spawn.ended()
        assert given_up.state == "undelivered"
        assert given_up.error == "agent:main:main was deleted."
        assert "Status: completed\nResult: twelve" in (given_up.announcement or "")
        await spawn.redeliver()
        assert (await spawn.ended()).state == "delivered"


async def test_a_question_of_the_child_is_awaited_except_in_its_announce_step(sqlite_url: str, tmp_path: Path) -> None:
    async with open_spawn(sqlite_url, tmp_path) as spawn:
        await spawn.spawn()
        await spawn.end(Completed(reply="twelve"))
        await spawn.end(NeedsInput(question="what else?"))
        spawn.engine.advance(241)
        spawn.engine.db.bell(EXCHANGES).ring()
        assert "Result: twelve\nNotes: none" in ((await spawn.ended()).announcement or "")
        await spawn.spawn()
        await spawn.end(Completed(reply="thanks"))
        await spawn.end(NeedsInput(question="which sheep?"))
        spawn.engine.advance(3600)
        spawn.engine.db.bell(EXCHANGES).ring()
        await spawn.engine.cancel(spawn.run_id, "user_cancelled")
        assert (await spawn.ended()).announcement.startswith("Status: cancelled")  # type: ignore[union-attr]


@requirement("S2.subannounce.form")
async def test_a_child_that_failed_before_its_turn_is_not_asked_for_notes(sqlite_url: str, tmp_path: Path) -> None:
    async with open_spawn(sqlite_url, tmp_path) as spawn:
        await spawn.spawn()
        await spawn.end(Failed(code="timeout", message="It took too long.", reason="timeout"))
        told = await spawn.end(Completed(reply="what a pity"))
        assert told.startswith("Status: timed out\nResult: none\nNotes: none\n")


async def test_a_child_stopped_in_its_announce_step_still_delivers_its_result(sqlite_url: str, tmp_path: Path) -> None:
    async with open_spawn(sqlite_url, tmp_path) as spawn:
        await spawn.spawn()
        await spawn.end(Completed(reply="twelve"))
        await spawn.end(Cancelled(reason="stopped"))
        assert "Status: completed\nResult: twelve\nNotes: none" in ((await spawn.ended()).announcement or "")

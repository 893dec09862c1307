"""What follows a send: rounds of replies and one announcement, none of it lost or repeated."""

import asyncio
import json
import threading
from typing import Any

import pytest

from carrel.exchanges import Exchange, Exchanges
from carrel.kernel import METRICS, SessionKey
from carrel.outbox import ChannelFault, ChannelMessage
from carrel.runs import Failed, NeedsInput, Outcome, remove_lane, retry
from carrel.runs.model import Cancelled
from carrel.sessions import LaneChange, change_lane, lane_of
from carrel.storage import Tx
from carrel.tools import CATALOG, finish_waiting
from tests.delivery.test_turn import Mortal
from tests.exchanges.talks import ASKER, CALL, TELLER, Talk, open_talk, talking_settings
from tests.harness.engine import SECONDS_MAX, events_of_run
from tests.requirements.mark import requirement

ROOM = SessionKey.of("teller", "telegram:group:42")
CRON = SessionKey.of("asker", "cron:nightly")


async def announced(talk: Talk) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of the announcement."""
    events = await talk.engine.db.read(lambda tx: events_of_run(tx, talk.engine.access, talk.first))
    return [(event.name, json.loads(event.body)) for event in events if event.name.startswith("announce")]


async def kinds_of(talk: Talk, key: SessionKey) -> list[str]:
    return [kind for kind, _ in await talk.sent_to(key)]


@requirement("S2.pingpong.starts", "S2.announce.step", "S2.announce.post", "S2.pingpong.skip")
async def test_replies_go_back_and_forth_and_end_with_one_announcement(talk: Talk) -> None:
    await talk.call(timeoutSeconds=0)
    await talk.end_turn()
    await talk.run_next(TELLER, "three")
    second = await talk.run_next(ASKER, "which?")
    third = await talk.run_next(TELLER, "red, green, blue")
    fourth = await talk.run_next(ASKER, " REPLY_SKIP\n")
    step = await talk.run_next(TELLER, "There are three: red, green and blue.")
    ended = await talk.ended()
    assert [run.text for run in (second, third, fourth)] == ["three", "which?", "red, green, blue"]
    assert {run.provenance_kind for run in (second, third, fourth)} == {"reply_back"}
    assert [run.source().source_session_key for run in (second, third)] == [str(TELLER), str(ASKER)]
    assert step.provenance_kind == "announce"
    assert all(part in step.text for part in ("how many?", "three", "red, green, blue"))
    assert (ended.state, ended.announcement) == ("delivered", "There are three: red, green and blue.")
    told = {"runId": talk.first, "attempts": 1, "to": str(TELLER)}
    assert await announced(talk) == [("announce.delivered", told)]


@requirement("S2.pingpong.max")
@pytest.mark.parametrize("rounds", range(6))
async def test_there_are_no_more_rounds_than_the_setting_allows(sqlite_url: str, rounds: int) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(rounds)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        await talk.run_next(TELLER, "round 1")
        for number in range(rounds):
            heard = await talk.run_next((ASKER, TELLER)[number % 2], f"round {number + 2}")
            assert (heard.provenance_kind, heard.text) == ("reply_back", f"round {number + 1}")
        step = await talk.run_next(TELLER, "ANNOUNCE_SKIP")
        assert step.provenance_kind == "announce"
        assert f"round {rounds + 1}" in step.text
        await talk.ended()
        kinds_of_both = [*await kinds_of(talk, ASKER), *await kinds_of(talk, TELLER)]
        assert kinds_of_both.count("reply_back") == rounds


@requirement("S2.announce.skip", "S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["ANNOUNCE_SKIP", "  ANNOUNCE_SKIP  ", "NO_REPLY", ""])
async def test_a_skipped_announcement_posts_nothing(sqlite_url: str, silence: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        await talk.run_next(TELLER, silence)
        assert (await talk.ended()).state == "skipped"
        assert await announced(talk) == []


@requirement("S2.announce.skip")
async def test_text_around_the_skip_token_is_an_announcement(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        await talk.run_next(TELLER, "I will not ANNOUNCE_SKIP this.")
        assert (await talk.ended()).state == "delivered"


@requirement("S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["NO_REPLY", "", "  \n"])
async def test_an_empty_first_answer_is_delivered_nowhere(sqlite_talk: Talk, silence: str) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.run_next(TELLER, silence)
    assert (await sqlite_talk.ended()).state == "skipped"
    assert await sqlite_talk.sent_to(ASKER) == []
    assert await kinds_of(sqlite_talk, TELLER) == ["inter_session"]


@requirement("S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["NO_REPLY", ""])
async def test_an_empty_reply_in_a_later_round_ends_the_rounds(sqlite_talk: Talk, silence: str) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.end_turn()
    await sqlite_talk.run_next(TELLER, "three")
    await sqlite_talk.run_next(ASKER, silence)
    step = await sqlite_talk.run_next(TELLER, "Three.")
    assert step.provenance_kind == "announce"
    await sqlite_talk.ended()
    assert "reply_back" not in await kinds_of(sqlite_talk, TELLER)


@requirement("S2.pingpong.skip")
async def test_a_first_answer_can_skip_the_rounds(sqlite_talk: Talk) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.end_turn()
    await sqlite_talk.run_next(TELLER, "REPLY_SKIP")
    assert (await sqlite_talk.run_next(TELLER, "Done.")).provenance_kind == "announce"
    await sqlite_talk.ended()
    assert await sqlite_talk.sent_to(ASKER) == []


@requirement("S2.x.reply.once", "S2.x.reply.own")
async def test_a_round_refers_to_a_reply_that_the_call_returned(talk: Talk) -> None:
    await talk.call(timeoutSeconds=30)
    await talk.run_next(TELLER, "three, to be exact")
    answer = await talk.finish()
    assert (answer["status"], answer["reply"], answer["runId"]) == ("ok", "three, to be exact", talk.first)
    await talk.end_turn()
    second = await talk.run_next(ASKER, "REPLY_SKIP")
    assert second.provenance_kind == "reply_back"
    assert "three, to be exact" not in second.text
    assert "sessions_send" in second.text
    await talk.run_next(TELLER, "ANNOUNCE_SKIP")
    await talk.ended()
    assert await kinds_of(talk, ASKER) == ["reply_back"]


@requirement("S2.x.reply.once", "S2.send.timeout")
async def test_a_reply_after_the_wait_arrives_as_a_round(talk: Talk) -> None:
    await talk.call(timeoutSeconds=30)
    talk.advance(31)
    answer = await talk.finish()
    assert (answer["status"], answer["runId"]) == ("timeout", talk.first)
    assert "reply" not in answer
    await talk.end_turn()
    await talk.run_next(TELLER, "three, but late")
    second = await talk.run_next(ASKER, "REPLY_SKIP")
    assert (second.provenance_kind, second.text) == ("reply_back", "three, but late")
    await talk.run_next(TELLER, "ANNOUNCE_SKIP")
    await talk.ended()
    assert await kinds_of(talk, ASKER) == ["reply_back"]


@requirement("S2.x.reply.once")
async def test_a_reply_at_the_moment_the_wait_ends_arrives_as_a_round(
    postgres_url: str,
) -> None:
    async with open_talk(postgres_url) as talk:
        await talk.call(timeoutSeconds=30)
        has_looked, has_ended = threading.Event(), threading.Event()

        def give_up(tx: Tx) -> str:
            text, _ = finish_waiting(tx, CATALOG, talk.caller, CALL)
            has_looked.set()
            assert has_ended.wait(SECONDS_MAX)
            return text

        async def answer() -> None:
            await asyncio.to_thread(has_looked.wait, SECONDS_MAX)
            await talk.run_next(TELLER, "three")
            has_ended.set()

        given_up, _ = await asyncio.gather(talk.engine.db.write(give_up), answer())
        assert json.loads(given_up)["status"] == "timeout"
        assert (await talk.next_run(ASKER)).text == "three"


@requirement("S2.x.reply.once")
async def test_a_late_call_does_not_return_a_reply_that_was_already_delivered(talk: Talk) -> None:
    await talk.call(timeoutSeconds=30)
    await talk.run_next(TELLER, "three")
    # The server of the call has crashed; its turn is resumed much later.
    talk.advance(60)
    second = await talk.next_run(ASKER)
    assert second.text == "three"
    assert await talk.engine.rescue() == 1
    assert (await talk.engine.take_one()).id == talk.caller.own_run.id
    answer = await talk.finish()
    assert answer["status"] == "timeout"
    assert "reply" not in answer


@requirement("S2.x.nodeadlock")
async def test_a_round_waits_until_the_requesters_turn_has_ended(talk: Talk) -> None:
    await talk.call(timeoutSeconds=0)
    await talk.run_next(TELLER, "three")
    second = await talk.next_run(ASKER)
    assert await talk.engine.take(8) == [], "the requester's own turn goes on and nothing else does"
    await talk.end_turn()
    assert (await talk.run_next(ASKER, "REPLY_SKIP")).id == second.id


@requirement("S2.x.nodeadlock")
async def test_a_round_that_does_not_start_in_time_ends_the_rounds(talk: Talk) -> None:
    await talk.call(timeoutSeconds=30)
    await talk.run_next(TELLER, "three")
    await talk.finish()
    second = await talk.next_run(ASKER)
    talk.advance(10 * 60 - 1)
    assert (await talk.exchange()).step == "reply"
    talk.advance(1)
    step = await talk.run_next(TELLER, "Three.")
    assert step.provenance_kind == "announce"
    cancelled = await talk.engine.run(second.id)
    assert (cancelled.state, cancelled.reason) == ("cancelled", "expired")
    assert (await talk.ended()).state == "delivered"


@requirement("S2.x.reply.once", "S2.x.nodeadlock")
async def test_a_late_reply_stays_in_the_lane_after_the_rounds_expired(sqlite_talk: Talk) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.run_next(TELLER, "three")
    second = await sqlite_talk.next_run(ASKER)
    sqlite_talk.advance(10 * 60)
    await sqlite_talk.run_next(TELLER, "ANNOUNCE_SKIP")
    assert (await sqlite_talk.ended()).state == "skipped"
    assert (await sqlite_talk.engine.run(second.id)).state == "queued", "it is the only way the requester hears of it"


@requirement("S2.x.nodeadlock")
async def test_without_an_expiry_a_round_waits_as_long_as_it_takes(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(expiry_minutes=0)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        await talk.next_run(ASKER)
        exchange = await talk.exchange()
        assert (exchange.step, exchange.due_at, exchange.expires_at) == ("reply", None, None)


@requirement("S2.x.cron.noloop")
async def test_a_cron_requester_gets_no_rounds_but_an_announcement(store_url: str) -> None:
    async with open_talk(store_url, asker=CRON) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        await talk.run_next(TELLER, "three")
        assert (await talk.run_next(TELLER, "Three.")).provenance_kind == "announce"
        assert (await talk.ended()).state == "delivered"
        assert await talk.sent_to(CRON) == []


@pytest.mark.parametrize("outcome", [Failed(code="broken", message="It broke."), Cancelled(reason="stopped")])
async def test_nothing_follows_a_first_run_that_did_not_complete(sqlite_talk: Talk, outcome: Outcome) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.run_next(TELLER, outcome)
    ended = await sqlite_talk.ended()
    assert ended.state == "skipped"
    assert "failed" in (ended.error or "") or "cancelled" in (ended.error or "")
    assert await kinds_of(sqlite_talk, TELLER) == ["inter_session"]


@requirement("S2.pingpong.starts")
async def test_a_retried_first_run_is_followed_like_any_other(talk: Talk) -> None:
    await talk.call(timeoutSeconds=0)
    await talk.end_turn()
    failed = await talk.run_next(TELLER, Failed(code="broken", message="It broke."))
    await talk.ended()
    ended = await talk.engine.run(failed.id)
    talk.first = (await talk.engine.db.write(lambda tx: retry(tx, talk.engine.access, ended, talk.engine.rules))).id
    await talk.run_next(TELLER, "three")
    assert (await talk.run_next(ASKER, "REPLY_SKIP")).text == "three"
    assert (await talk.run_next(TELLER, "Three.")).provenance_kind == "announce"
    assert (await talk.ended()).state == "delivered"


async def test_a_round_that_fails_ends_the_rounds(sqlite_talk: Talk) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.end_turn()
    await sqlite_talk.run_next(TELLER, "three")
    await sqlite_talk.run_next(ASKER, Failed(code="broken", message="It broke."))
    assert (await sqlite_talk.run_next(TELLER, "ANNOUNCE_SKIP")).provenance_kind == "announce"


async def test_a_first_run_that_asks_for_input_continues_after_the_answer(sqlite_talk: Talk) -> None:
    await sqlite_talk.call(timeoutSeconds=30)
    await sqlite_talk.run_next(TELLER, NeedsInput(question="Of what?"))
    answer = await sqlite_talk.finish()
    assert answer["status"] == "error"
    assert "Of what?" in answer["error"]
    exchange = await sqlite_talk.reaches(lambda seen: seen.due_at is None)
    assert (exchange.state, exchange.step) == ("open", "primary")


async def test_a_deleted_requester_ends_the_rounds(sqlite_talk: Talk) -> None:
    await sqlite_talk.call(timeoutSeconds=0)
    await sqlite_talk.end_turn()
    lane = await sqlite_talk.engine.db.read(lambda tx: lane_of(tx, sqlite_talk.engine.access, ASKER))
    assert lane is not None
    await sqlite_talk.engine.db.write(lambda tx: remove_lane(tx, sqlite_talk.engine.access, lane))
    await sqlite_talk.run_next(TELLER, "three")
    assert (await sqlite_talk.run_next(TELLER, "Three.")).provenance_kind == "announce"
    assert (await sqlite_talk.ended()).state == "delivered"
    assert await sqlite_talk.engine.runs(ASKER) == [], "a lane that was deleted is not made again"


@requirement("S2.send.announce.besteffort")
async def test_a_failed_announcement_is_undelivered_and_changes_no_result(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=30)
        await talk.run_next(TELLER, "three")
        assert (await talk.finish())["status"] == "ok"
        await talk.run_next(TELLER, Failed(code="broken", message="It broke."))
        ended = await talk.ended()
        assert (ended.state, "It broke." in (ended.error or "")) == ("undelivered", True)
        assert (await talk.engine.run(talk.first)).reply == "three"
        assert [name for name, _ in await announced(talk)] == ["announce.undelivered"]


@requirement("S2.policy.enforced")
async def test_a_lane_that_accepts_no_messages_gets_no_announce_step(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=0)
        denied = LaneChange(send_policy="deny")
        await talk.engine.db.write(lambda tx: change_lane(tx, talk.engine.access, TELLER, denied))
        await talk.run_next(TELLER, "three")
        ended = await talk.ended()
        assert (ended.state, "denied" in (ended.error or "")) == ("undelivered", True)
        assert await talk.engine.depth(TELLER) == 0, "what was refused has left no trace in the queue"


class FakeChannel:
    """A channel that fails a number of times and remembers its posts."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.received: list[ChannelMessage] = []

    async def post(self, post: ChannelMessage) -> None:
        if self.failures:
            self.failures -= 1
            raise ChannelFault("nobody there")
        self.received.append(post)


async def reach_post(talk: Talk, posts: FakeChannel) -> None:
    """Reach the point at which an announcement is to be posted."""
    talk.channels["telegram"] = posts
    await talk.engine.say(ROOM, "hello")
    (held,) = await talk.engine.take(8)
    await talk.engine.end(held)
    await talk.call(sessionKey=str(ROOM), timeoutSeconds=0)
    await talk.run_next(ROOM, "three")
    await talk.run_next(ROOM, "Three!")


@requirement("S2.announce.post")
async def test_an_announcement_is_posted_on_the_targets_channel(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        posts = FakeChannel(0)
        await reach_post(talk, posts)
        ended = await talk.ended()
        assert ended.state == "delivered"
        assert [(post.text, post.key, post.channel) for post in posts.received] == [("Three!", ROOM, "telegram")]


@requirement("S2.announce.post", "S2.x.result.kept")
async def test_a_failing_channel_is_retried_with_growing_pauses(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        posts = FakeChannel(3)
        await reach_post(talk, posts)
        for attempt, seconds in enumerate((15, 30, 60), 1):
            put_off = await talk.reaches(lambda exchange, n=attempt: exchange.attempts == n)  # type: ignore[misc]
            assert put_off.due_at == talk.engine.clock.now_ms() + seconds * 1000
            talk.advance(seconds)
        ended = await talk.ended()
        assert (ended.state, ended.attempts, len(posts.received)) == ("delivered", 4, 1)


class SlowChannel(FakeChannel):
    """A channel whose every result is decided by the test: True for success."""

    def __init__(self) -> None:
        super().__init__(0)
        self.waiting: asyncio.Queue[asyncio.Future[bool]] = asyncio.Queue()

    async def post(self, post: ChannelMessage) -> None:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait(answer)
        if not await answer:
            raise ChannelFault("too late")
        self.received.append(post)


@requirement("S2.x.result.kept")
async def test_a_server_that_lost_its_lease_during_a_post_records_nothing(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk, asyncio.timeout(SECONDS_MAX):
        posts = SlowChannel()
        await reach_post(talk, posts)
        first = await posts.waiting.get()
        talk.advance(60)
        second = await posts.waiting.get()
        taken = await talk.exchange()
        first.set_result(False)
        third = asyncio.create_task(posts.waiting.get())
        second.set_result(True)
        ended = await talk.ended()
        third.cancel()
        assert taken.attempts == 0
        assert (ended.state, ended.attempts, len(posts.received)) == ("delivered", 1, 1)


@requirement("S2.announce.post")
async def test_two_servers_post_once(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        posts = FakeChannel(0)
        talk.channels["telegram"] = posts
        beside = asyncio.create_task(
            Exchanges(talk.engine.db, talk.services.settings, talk.services.rules, talk.channels).serve()
        )
        try:
            await reach_post(talk, posts)
            assert (await talk.ended()).state == "delivered"
            assert len(posts.received) == 1
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)


def given_up() -> float:
    """Return how many results were undelivered so far."""
    return sum(sample.value for sample in METRICS.samples() if sample.name == "announce.undelivered.count")


@requirement("S2.x.result.kept")
async def test_a_channel_that_fails_for_half_an_hour_leaves_the_result_undelivered(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        before = given_up()
        await reach_post(talk, FakeChannel(1000))
        began = talk.engine.clock.now_ms()
        waits = []
        while True:
            exchange = await talk.reaches(lambda found: found.state != "open" or bool(found.error))
            if exchange.state != "open":
                break
            assert exchange.due_at is not None
            waits.append((exchange.due_at - talk.engine.clock.now_ms()) // 1000)
            attempts = exchange.attempts
            talk.advance(waits[-1])
            await talk.reaches(lambda found, n=attempts: found.attempts > n)  # type: ignore[misc]
        assert waits[:6] == [15, 30, 60, 120, 240, 300]
        assert set(waits[5:]) == {300}
        assert talk.engine.clock.now_ms() - began <= 30 * 60 * 1000
        assert (exchange.state, exchange.announcement) == ("undelivered", "Three!")
        told = {"runId": talk.first, "attempts": exchange.attempts, "to": str(ROOM)}
        assert await announced(talk) == [("announce.undelivered", told)]
        assert given_up() == before + 1


class Killed(BaseException):
    """The whole server is killed: nothing in it can catch this."""


class Server(Mortal):
    """A store whose server is killed around one of its transactions."""

    death = Killed


async def live_through(talk: Talk, deaths: list[tuple[int, bool]]) -> Exchange:
    """Play a whole exchange while its servers are killed again and again."""

    # A cancellation that meets a death in the same step is lost with it, so the loop also looks at this.
    over = asyncio.Event()

    async def serve() -> None:
        while not over.is_set():
            writes, after = deaths.pop(0) if deaths else (1000, False)
            mortal = Server(talk.engine.db, writes, after=after)
            try:
                await Exchanges(mortal, talk.services.settings, talk.services.rules, talk.channels).serve()
            except* Killed:
                pass

    async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as group:
        serving = group.create_task(serve())
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        for key, reply in ((TELLER, "three"), (ASKER, "which?"), (TELLER, "red"), (ASKER, "REPLY_SKIP")):
            await talk.run_next(key, reply)
        await talk.run_next(TELLER, "Three, one of them red.")
        ended = await talk.ended()
        over.set()
        serving.cancel()
    return ended


@requirement("P.kill", "S2.x.reply.once")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(5))
async def test_a_server_that_dies_between_two_steps_loses_and_repeats_nothing(
    store_url: str, writes: int, after: bool
) -> None:
    async with open_talk(store_url, working=False) as talk:
        ended = await live_through(talk, [(writes, after), (0, after)])
        assert (ended.state, ended.round) == ("delivered", 4)
        assert await talk.sent_to(ASKER) == [("reply_back", "three"), ("reply_back", "red")]
        assert await kinds_of(talk, TELLER) == ["inter_session", "reply_back", "announce"]
        assert len(await announced(talk)) == 1


async def test_two_servers_take_each_step_once(talk: Talk) -> None:
    beside = asyncio.create_task(Exchanges(talk.engine.db, talk.services.settings, talk.services.rules, {}).serve())
    try:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        for key, reply in ((TELLER, "three"), (ASKER, "which?"), (TELLER, "REPLY_SKIP"), (TELLER, "Three.")):
            await talk.run_next(key, reply)
        assert (await talk.ended()).state == "delivered"
        assert await kinds_of(talk, ASKER) == ["reply_back"]
        assert await kinds_of(talk, TELLER) == ["inter_session", "reply_back", "announce"]
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)

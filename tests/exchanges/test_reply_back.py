"""What follows after a send: replies back and forth, one announcement, and that none of it is lost or said twice."""

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
from tests.delivery.test_resuming import Mortal
from tests.exchanges.talks import ASKER, CALL, TELLER, Talk, open_talk, talking_settings
from tests.harness.engine import SECONDS_MAX, events_of_run
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio
ROOM = SessionKey.of("teller", "telegram:group:42")
CRON = SessionKey.of("asker", "cron:nightly")


async def announced(talk: Talk) -> list[tuple[str, dict[str, Any]]]:
    """What the feed was told of the announcement."""
    events = await talk.engine.db.read(lambda tx: events_of_run(tx, talk.engine.access, talk.first))
    return [(event.name, json.loads(event.body)) for event in events if event.name.startswith("announce")]


async def kinds_heard(talk: Talk, key: SessionKey) -> list[str]:
    return [kind for kind, _ in await talk.sent_to(key)]


@requirement("S2.pingpong.starts", "S2.announce.step", "S2.announce.post", "S2.pingpong.skip")
async def test_replies_go_back_and_forth_and_then_one_announcement_is_made(store_url: str) -> None:
    async with open_talk(store_url) as talk:
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
async def test_there_are_no_more_rounds_than_are_set(sqlite_url: str, rounds: int) -> None:
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
        heard_by_both = [*await kinds_heard(talk, ASKER), *await kinds_heard(talk, TELLER)]
        assert heard_by_both.count("reply_back") == rounds


@requirement("S2.announce.skip", "S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["ANNOUNCE_SKIP", "  ANNOUNCE_SKIP  ", "NO_REPLY", ""])
async def test_an_announcement_that_says_nothing_stays_silent(sqlite_url: str, silence: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        await talk.run_next(TELLER, silence)
        assert (await talk.ended()).state == "skipped"
        assert await announced(talk) == []


@requirement("S2.announce.skip")
async def test_words_around_the_token_are_no_silence(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        await talk.run_next(TELLER, "I will not ANNOUNCE_SKIP this.")
        assert (await talk.ended()).state == "delivered"


@requirement("S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["NO_REPLY", "", "  \n"])
async def test_a_first_answer_that_says_nothing_is_not_carried_anywhere(sqlite_url: str, silence: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, silence)
        assert (await talk.ended()).state == "skipped"
        assert await talk.sent_to(ASKER) == []
        assert await kinds_heard(talk, TELLER) == ["inter_session"]


@requirement("S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["NO_REPLY", ""])
async def test_silence_in_a_later_round_ends_the_rounds(sqlite_url: str, silence: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        await talk.run_next(TELLER, "three")
        await talk.run_next(ASKER, silence)
        step = await talk.run_next(TELLER, "Three.")
        assert step.provenance_kind == "announce"
        await talk.ended()
        assert "reply_back" not in await kinds_heard(talk, TELLER)


@requirement("S2.pingpong.skip")
async def test_a_first_answer_may_end_the_rounds_before_they_begin(sqlite_url: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        await talk.run_next(TELLER, "REPLY_SKIP")
        assert (await talk.run_next(TELLER, "Done.")).provenance_kind == "announce"
        await talk.ended()
        assert await talk.sent_to(ASKER) == []


@requirement("S2.x.reply.once", "S2.x.reply.own")
async def test_after_a_reply_in_the_call_itself_the_round_refers_to_it_and_does_not_repeat_it(store_url: str) -> None:
    async with open_talk(store_url) as talk:
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
        assert await kinds_heard(talk, ASKER) == ["reply_back"]


@requirement("S2.x.reply.once", "S2.send.timeout")
async def test_a_reply_that_comes_after_the_wait_is_brought_by_the_round(store_url: str) -> None:
    async with open_talk(store_url) as talk:
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
        assert await kinds_heard(talk, ASKER) == ["reply_back"]


@requirement("S2.x.reply.once")
async def test_a_reply_that_comes_in_the_very_moment_in_which_the_wait_ends_is_brought_by_the_round(
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
async def test_a_call_that_comes_back_after_its_reply_went_another_way_does_not_give_it_again(store_url: str) -> None:
    async with open_talk(store_url) as talk:
        await talk.call(timeoutSeconds=30)
        await talk.run_next(TELLER, "three")
        # The server that held the call is gone; its turn is taken up much later.
        talk.advance(60)
        second = await talk.next_run(ASKER)
        assert second.text == "three"
        assert await talk.engine.rescue() == 1
        assert (await talk.engine.take_one()).id == talk.caller.own_run.id
        answer = await talk.finish()
        assert answer["status"] == "timeout"
        assert "reply" not in answer


@requirement("S2.x.nodeadlock")
async def test_a_round_waits_in_the_lane_of_the_requester_until_its_turn_has_ended(store_url: str) -> None:
    async with open_talk(store_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        second = await talk.next_run(ASKER)
        assert await talk.engine.take(8) == [], "the requester's own turn goes on and nothing else does"
        await talk.end_turn()
        assert (await talk.run_next(ASKER, "REPLY_SKIP")).id == second.id


@requirement("S2.x.nodeadlock")
async def test_a_round_that_nobody_hears_in_time_ends_the_rounds(store_url: str) -> None:
    async with open_talk(store_url) as talk:
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
async def test_a_late_reply_stays_in_the_lane_even_when_the_rounds_are_over(sqlite_url: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        second = await talk.next_run(ASKER)
        talk.advance(10 * 60)
        await talk.run_next(TELLER, "ANNOUNCE_SKIP")
        assert (await talk.ended()).state == "skipped"
        assert (await talk.engine.run(second.id)).state == "queued", "it is the only way the requester hears of it"


@requirement("S2.x.nodeadlock")
async def test_without_an_expiry_a_round_waits_as_long_as_it_takes(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(expiry_minutes=0)) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, "three")
        await talk.next_run(ASKER)
        exchange = await talk.exchange()
        assert (exchange.step, exchange.due_at, exchange.expires_at) == ("reply", None, None)


@requirement("S2.x.cron.noloop")
async def test_a_cron_requester_gets_no_rounds_but_the_announcement_is_made(store_url: str) -> None:
    async with open_talk(store_url, asker=CRON) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        await talk.run_next(TELLER, "three")
        assert (await talk.run_next(TELLER, "Three.")).provenance_kind == "announce"
        assert (await talk.ended()).state == "delivered"
        assert await talk.sent_to(CRON) == []


@pytest.mark.parametrize("outcome", [Failed(code="broken", message="It broke."), Cancelled(reason="stopped")])
async def test_after_a_first_run_that_did_not_answer_nothing_follows(sqlite_url: str, outcome: Outcome) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.run_next(TELLER, outcome)
        ended = await talk.ended()
        assert ended.state == "skipped"
        assert "failed" in (ended.error or "") or "cancelled" in (ended.error or "")
        assert await kinds_heard(talk, TELLER) == ["inter_session"]


@requirement("S2.pingpong.starts")
async def test_a_first_run_that_is_told_to_try_again_is_followed_like_any_other(store_url: str) -> None:
    async with open_talk(store_url) as talk:
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


async def test_a_round_that_fails_ends_the_rounds(sqlite_url: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        await talk.run_next(TELLER, "three")
        await talk.run_next(ASKER, Failed(code="broken", message="It broke."))
        assert (await talk.run_next(TELLER, "ANNOUNCE_SKIP")).provenance_kind == "announce"


async def test_a_first_run_that_asks_a_person_goes_on_once_it_was_answered(sqlite_url: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=30)
        await talk.run_next(TELLER, NeedsInput(question="Of what?"))
        answer = await talk.finish()
        assert answer["status"] == "error"
        assert "Of what?" in answer["error"]
        exchange = await talk.reaches(lambda seen: seen.due_at is None)
        assert (exchange.state, exchange.step) == ("open", "primary")


async def test_a_requester_that_is_gone_ends_the_rounds(sqlite_url: str) -> None:
    async with open_talk(sqlite_url) as talk:
        await talk.call(timeoutSeconds=0)
        await talk.end_turn()
        lane = await talk.engine.db.read(lambda tx: lane_of(tx, talk.engine.access, ASKER))
        assert lane is not None
        await talk.engine.db.write(lambda tx: remove_lane(tx, talk.engine.access, lane))
        await talk.run_next(TELLER, "three")
        assert (await talk.run_next(TELLER, "Three.")).provenance_kind == "announce"
        assert (await talk.ended()).state == "delivered"
        assert await talk.engine.runs(ASKER) == [], "a lane that was deleted is not made again"


@requirement("S2.send.announce.besteffort")
async def test_an_announcement_that_fails_is_undelivered_and_changes_no_result(sqlite_url: str) -> None:
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
async def test_a_lane_that_nothing_may_be_sent_to_any_more_hears_no_announcement(sqlite_url: str) -> None:
    async with open_talk(sqlite_url, settings=talking_settings(0)) as talk:
        await talk.call(timeoutSeconds=0)
        denied = LaneChange(send_policy="deny")
        await talk.engine.db.write(lambda tx: change_lane(tx, talk.engine.access, TELLER, denied))
        await talk.run_next(TELLER, "three")
        ended = await talk.ended()
        assert (ended.state, "denied" in (ended.error or "")) == ("undelivered", True)
        assert await talk.engine.depth(TELLER) == 0, "what was refused has left no trace in the queue"


class Room:
    """A channel that fails as often as it is told, and remembers what was said."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.heard: list[ChannelMessage] = []

    async def post(self, post: ChannelMessage) -> None:
        if self.failures:
            self.failures -= 1
            raise ChannelFault("nobody there")
        self.heard.append(post)


async def say_in_room(talk: Talk, room: Room) -> None:
    """Come to the point at which an announcement is to leave for the room."""
    talk.channels["telegram"] = room
    await talk.engine.say(ROOM, "hello")
    (held,) = await talk.engine.take(8)
    await talk.engine.end(held)
    await talk.call(sessionKey=str(ROOM), timeoutSeconds=0)
    await talk.run_next(ROOM, "three")
    await talk.run_next(ROOM, "Three!")


@requirement("S2.announce.post")
async def test_what_is_announced_goes_out_on_the_channel_of_the_target(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        room = Room(0)
        await say_in_room(talk, room)
        ended = await talk.ended()
        assert ended.state == "delivered"
        assert [(post.text, post.key, post.channel) for post in room.heard] == [("Three!", ROOM, "telegram")]


@requirement("S2.announce.post", "S2.x.result.kept")
async def test_a_channel_that_fails_is_tried_again_later_and_later(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        room = Room(3)
        await say_in_room(talk, room)
        for attempt, seconds in enumerate((15, 30, 60), 1):
            put_off = await talk.reaches(lambda exchange, n=attempt: exchange.attempts == n)  # type: ignore[misc]
            assert put_off.due_at == talk.engine.clock.now_ms() + seconds * 1000
            talk.advance(seconds)
        ended = await talk.ended()
        assert (ended.state, ended.attempts, len(room.heard)) == ("delivered", 4, 1)


class SlowRoom(Room):
    """A channel whose every answer waits for the test: True for success."""

    def __init__(self) -> None:
        super().__init__(0)
        self.waiting: asyncio.Queue[asyncio.Future[bool]] = asyncio.Queue()

    async def post(self, post: ChannelMessage) -> None:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait(answer)
        if not await answer:
            raise ChannelFault("too late")
        self.heard.append(post)


@requirement("S2.x.result.kept")
async def test_who_was_overtaken_while_a_post_hung_has_no_say_in_it_any_more(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk, asyncio.timeout(SECONDS_MAX):
        room = SlowRoom()
        await say_in_room(talk, room)
        first = await room.waiting.get()
        talk.advance(60)
        second = await room.waiting.get()
        taken = await talk.exchange()
        first.set_result(False)
        third = asyncio.create_task(room.waiting.get())
        second.set_result(True)
        ended = await talk.ended()
        third.cancel()
        assert taken.attempts == 0
        assert (ended.state, ended.attempts, len(room.heard)) == ("delivered", 1, 1)


@requirement("S2.announce.post")
async def test_two_that_go_on_with_the_same_exchanges_post_once(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        room = Room(0)
        talk.channels["telegram"] = room
        beside = asyncio.create_task(
            Exchanges(talk.engine.db, talk.house.settings, talk.house.rules, talk.channels).serve()
        )
        try:
            await say_in_room(talk, room)
            assert (await talk.ended()).state == "delivered"
            assert len(room.heard) == 1
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)


def given_up() -> float:
    """How many results were given up in sight so far."""
    return sum(sample.value for sample in METRICS.samples() if sample.name == "announce.undelivered.count")


@requirement("S2.x.result.kept")
async def test_a_channel_that_fails_for_half_an_hour_leaves_the_result_undelivered_in_sight(store_url: str) -> None:
    async with open_talk(store_url, settings=talking_settings(0)) as talk:
        before = given_up()
        await say_in_room(talk, Room(1000))
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
    """The whole server is gone: nothing in it lives on to catch this."""


class Server(Mortal):
    """A store whose server is killed around one of its transactions."""

    death = Killed


async def live_through(talk: Talk, deaths: list[tuple[int, bool]]) -> Exchange:
    """Play a whole exchange while whoever goes on with it dies again and again."""

    async def serve() -> None:
        while True:
            writes, after = deaths.pop(0) if deaths else (1000, False)
            mortal = Server(talk.engine.db, writes, after=after)
            try:
                await Exchanges(mortal, talk.house.settings, talk.house.rules, talk.channels).serve()
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
        serving.cancel()
    return ended


@requirement("P.kill", "S2.x.reply.once")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(5))
async def test_whoever_dies_between_two_steps_loses_and_repeats_nothing(
    store_url: str, writes: int, after: bool
) -> None:
    async with open_talk(store_url, working=False) as talk:
        ended = await live_through(talk, [(writes, after), (0, after)])
        assert (ended.state, ended.round) == ("delivered", 4)
        assert await talk.sent_to(ASKER) == [("reply_back", "three"), ("reply_back", "red")]
        assert await kinds_heard(talk, TELLER) == ["inter_session", "reply_back", "announce"]
        assert len(await announced(talk)) == 1


async def test_two_that_go_on_with_the_same_exchanges_take_each_step_once(store_url: str) -> None:
    async with open_talk(store_url) as talk:
        beside = asyncio.create_task(Exchanges(talk.engine.db, talk.house.settings, talk.house.rules, {}).serve())
        try:
            await talk.call(timeoutSeconds=0)
            await talk.end_turn()
            for key, reply in ((TELLER, "three"), (ASKER, "which?"), (TELLER, "REPLY_SKIP"), (TELLER, "Three.")):
                await talk.run_next(key, reply)
            assert (await talk.ended()).state == "delivered"
            assert await kinds_heard(talk, ASKER) == ["reply_back"]
            assert await kinds_heard(talk, TELLER) == ["inter_session", "reply_back", "announce"]
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)

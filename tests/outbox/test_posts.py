"""Posts to channels: their leases, their order, their retries, and when they are given up."""

from carrel.kernel.limits import POST_LEASE_SECONDS, POSTING_HOURS_MAX, POSTS_KEPT_HOURS, RETRY_MAX_SECONDS
from carrel.outbox import (
    Post,
    claim_post,
    drop_post,
    next_post_due,
    part_sent,
    post_by_id,
    post_failed,
    post_text,
    prune_posts,
    release_posts,
    take_posts,
)
from carrel.storage import Tx
from tests.harness.engine import Engine

CHANNEL = "telegram"
HOUR_SECONDS = 3_600


async def write(engine: Engine, text: str = "hello", chat: str = "chat-1") -> str:
    return await engine.db.write(lambda tx: post_text(tx, engine.access, CHANNEL, chat, text))


async def take(engine: Engine, limit: int = 10) -> list[Post]:
    """Lease what is due, as a channel does."""

    def work(tx: Tx) -> list[Post]:
        taken = take_posts(tx, CHANNEL, limit)
        for post in taken:
            claim_post(tx, post.access, post)
        return taken

    return await engine.db.write(work)


async def take_one(engine: Engine) -> Post:
    (post,) = await take(engine)
    return post


async def send(engine: Engine, post: Post, parts: int = 1) -> Post | None:
    return await engine.db.write(lambda tx: part_sent(tx, post, parts))


async def fail(engine: Engine, post: Post, *, final: bool = False, after_seconds: float = 0) -> str:
    return await engine.db.write(
        lambda tx: post_failed(tx, post, "no answer", final=final, after_seconds=after_seconds)
    )


async def stored(engine: Engine, post_id: str) -> Post:
    found = await engine.db.read(lambda tx: post_by_id(tx, engine.access, post_id))
    assert found is not None
    return found


async def test_a_lost_lease_records_nothing(engine: Engine) -> None:
    name = await write(engine)
    lost = await take_one(engine)
    engine.advance(POST_LEASE_SECONDS - 1)
    assert await take(engine) == []
    engine.advance(1)
    again = await take_one(engine)
    assert await send(engine, lost, parts=2) is None
    assert await send(engine, lost) is None
    await fail(engine, lost, final=True)
    await engine.db.write(lambda tx: drop_post(tx, lost, "denied"))
    assert await stored(engine, name) == again


async def test_every_part_that_is_sent_renews_the_lease_and_forgets_failures(engine: Engine) -> None:
    name = await write(engine)
    assert await fail(engine, await take_one(engine)) == "again"
    engine.advance(RETRY_MAX_SECONDS)
    post: Post | None = await take_one(engine)
    for sent in (1, 2):
        engine.advance(POST_LEASE_SECONDS - 1)
        assert await take(engine) == []
        assert post is not None
        post = await send(engine, post, parts=3)
        assert post is not None
        assert (post.parts_sent, post.attempts, post.error) == (sent, 0, None)
    assert post is not None
    assert await send(engine, post, parts=3) is None
    ended = await stored(engine, name)
    assert (ended.state, ended.parts_sent, ended.due_at, ended.claim) == ("sent", 3, None, None)


async def test_posts_to_a_chat_go_out_one_after_the_other_and_wait_for_no_other_chat(engine: Engine) -> None:
    first, second = await write(engine), await write(engine)
    elsewhere = await write(engine, chat="chat-2")
    taken = {post.id: post for post in await take(engine)}
    assert set(taken) == {first, elsewhere}
    await send(engine, taken[elsewhere])
    assert await fail(engine, taken[first]) == "again"
    assert await take(engine) == [], "the second waits as long as the first"
    engine.advance(RETRY_MAX_SECONDS)
    assert await fail(engine, await take_one(engine), final=True) == "dropped"
    assert (await take_one(engine)).id == second


async def test_a_post_is_tried_again_for_a_day_and_then_given_up(engine: Engine) -> None:
    name = await write(engine)
    last_second = POSTING_HOURS_MAX * HOUR_SECONDS
    assert await fail(engine, await take_one(engine), after_seconds=last_second) == "again"
    waiting = await stored(engine, name)
    assert (waiting.state, waiting.due_at) == ("open", waiting.created_at + last_second * 1000)
    engine.advance(last_second)
    assert await fail(engine, await take_one(engine)) == "dropped"
    ended = await stored(engine, name)
    assert (ended.state, ended.due_at, ended.error) == ("dropped", None, "no answer")
    assert await engine.db.read(lambda tx: next_post_due(tx, CHANNEL)) is None


async def test_a_retry_waits_as_long_as_the_channel_asks(engine: Engine) -> None:
    await write(engine)
    await fail(engine, await take_one(engine), after_seconds=RETRY_MAX_SECONDS + 60)
    engine.advance(RETRY_MAX_SECONDS + 59)
    assert await take(engine) == []
    engine.advance(1)
    assert (await take_one(engine)).attempts == 1


async def test_a_starting_server_releases_leases_and_keeps_pauses(engine: Engine) -> None:
    held, waiting = await write(engine), await write(engine, chat="chat-2")
    for post in await take(engine):
        if post.id == waiting:
            await fail(engine, post)
    assert await engine.db.write(lambda tx: release_posts(tx, CHANNEL)) == 1
    assert (await take_one(engine)).id == held


async def test_posts_that_ended_are_kept_for_a_day_and_open_ones_until_they_end(engine: Engine) -> None:
    ended = await write(engine)
    await send(engine, await take_one(engine))
    opened = await write(engine)
    engine.advance(POSTS_KEPT_HOURS * HOUR_SECONDS)
    assert await engine.db.write(lambda tx: prune_posts(tx, engine.access)) == 0
    engine.advance(1)
    assert await engine.db.write(lambda tx: prune_posts(tx, engine.access)) == 1
    assert await engine.db.read(lambda tx: post_by_id(tx, engine.access, ended)) is None
    assert (await stored(engine, opened)).state == "open"

"""Posts that wait for another attempt: wait until there is one, and make it due at once."""

import asyncio

from carrel.outbox.post_store import POSTS
from carrel.storage import FEED, Database, Tx
from tests.surfaces.telegram.bot_api import WAIT_SECONDS_MAX


async def until_put_off(db: Database) -> int:
    """How long, in milliseconds, a post must wait that was just refused; returns once there is one."""

    def look(tx: Tx) -> int | None:
        row = tx.one("SELECT due_at FROM posts WHERE due_at IS NOT NULL AND claim IS NULL AND error IS NOT NULL")
        return None if row is None else int(row[0]) - tx.now

    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while True:
            version = db.bell(POSTS).version
            found = await db.read(look)
            if found is not None:
                return found
            await db.bell(POSTS).wait(version, WAIT_SECONDS_MAX)


async def until_told(db: Database, name: str) -> None:
    """Return once the feed has told of something under that name."""

    def look(tx: Tx) -> bool:
        return tx.one("SELECT 1 FROM events WHERE name = :name", name=name) is not None

    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while True:
            version = db.bell(FEED).version
            if await db.read(look):
                return
            await db.bell(FEED).wait(version, WAIT_SECONDS_MAX)


async def hurry(db: Database) -> None:
    """Let every post that waits, or whose taker is gone, be due now."""

    def work(tx: Tx) -> None:
        tx.run("UPDATE posts SET due_at = :now, error = NULL WHERE due_at IS NOT NULL", now=tx.now)
        tx.wake(POSTS)

    await db.write(work)

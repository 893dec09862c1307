"""Posting: says on Telegram what is kept for it, in order for each chat and at least once, beside the turns.

How far each post has come stands in the store: a restart goes on with the part it stood at, and several servers share
the work. A chat that cannot be reached holds up nobody but itself.
"""

import asyncio
from functools import partial
from logging import INFO, WARNING, getLogger

from msgspec import structs

from carrel.delivery import ChannelFault, Post
from carrel.kernel import METRICS, MS_PER_SECOND, Refusal, log_trouble, system_access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, TELEGRAM_POSTS_AT_A_TIME, UNSETTLED_POLL_SECONDS
from carrel.runs import (
    Rules,
    Waybill,
    claim_post,
    next_post_due,
    part_sent,
    pass_over,
    post_by_id,
    post_failed,
    post_words,
    release_posts,
    run_by_id,
    take_posts,
)
from carrel.sessions import lane_of, require_sending
from carrel.storage import POSTS, Database, Tx
from carrel.surfaces.telegram.bot import Bot, BotFault
from carrel.surfaces.telegram.hearing import CHANNEL
from carrel.surfaces.telegram.updates import place_of_rest
from carrel.surfaces.telegram.wording import outcome_words, parts_of

_log = getLogger("carrel.telegram")


class Posting:
    """Says the posts of one store; several servers may do so side by side."""

    def __init__(self, db: Database, bot: Bot, rules: Rules) -> None:
        self._db = db
        self._bot = bot
        self._rules = rules
        self._bell = db.bell(POSTS)
        # How many posts are being said here.
        self._busy = 0

    async def serve(self) -> None:
        """Say whatever is to be said, until cancelled."""
        if self._db.engine == "sqlite":
            # One server owns the file: whatever is held in it was left by one that is gone.
            await self._db.write(lambda tx: release_posts(tx, CHANNEL))
        async with asyncio.TaskGroup() as group:
            while True:
                version = self._bell.version
                taken, wait_seconds = await self._take()
                for post in taken:
                    self._busy += 1
                    group.create_task(self._tend(post))
                if not taken:
                    await self._bell.wait(version, wait_seconds)

    async def _take(self) -> tuple[list[Waybill], float]:
        """What may go out and has a place; and how long to wait when that is nothing."""
        places = TELEGRAM_POSTS_AT_A_TIME - self._busy
        if places <= 0:
            return [], SAFETY_POLL_SECONDS
        try:
            wait_seconds = await self._db.read(_seconds_until_due)
            if wait_seconds > 0:
                return [], min(wait_seconds, SAFETY_POLL_SECONDS)
            # Looked at again soon where another server is just taking them.
            return await self._db.write(partial(self._claim, limit=places)), UNSETTLED_POLL_SECONDS
        except Exception as error:  # boundary: the store may be away for a while; so are we, and try again
            log_trouble(_log, "posts_unread", error)
            return [], SAFETY_POLL_SECONDS

    def _claim(self, tx: Tx, limit: int) -> list[Waybill]:
        """Take posts and find their words; those that are not to be said after all are passed over."""
        taken = []
        for post in take_posts(tx, CHANNEL, limit):
            text, why = (post.text, "") if post.text is not None else self._words(tx, post)
            claimed = structs.replace(post, text=text or "")
            claim_post(tx, post.access, claimed)
            if parts_of(claimed.text or ""):
                taken.append(claimed)
            else:
                pass_over(tx, claimed, why or "There is nothing to say.")
        return taken

    def _words(self, tx: Tx, post: Waybill) -> tuple[str | None, str]:
        """What is said of a run, or why nothing is."""
        run = None if post.run_id is None else run_by_id(tx, post.access, post.run_id)
        if run is None:
            return None, "The run is gone."
        lane = lane_of(tx, post.access, run.session_key)
        try:
            require_sending(self._rules.send_policy, run.session_key, CHANNEL, lane.send_policy if lane else None)
        except Refusal as refusal:
            _log.info("post_denied", extra={"run_id": run.id, "error_code": str(refusal.code)})
            return None, refusal.message
        return outcome_words(run, post.about or ""), ""

    async def _tend(self, post: Waybill) -> None:
        """Say every part of one post that is left."""
        held: Waybill | None = post
        parts = parts_of(post.text or "")
        try:
            while held is not None:
                held = await self._say(held, parts)
        except Exception as error:  # boundary: one post takes no other with it; its lease brings it back
            log_trouble(_log, "post_held", error)
        finally:
            self._busy -= 1
            self._bell.ring()

    async def _say(self, post: Waybill, parts: list[str]) -> Waybill | None:
        """Say the next part; the post while there is more and it is still ours."""
        try:
            await self._bot.say(post.place, parts[post.parts_sent])
        except BotFault as fault:
            note = partial(
                post_failed, post=post, reason=fault.message, final=fault.final, after_seconds=fault.after_seconds
            )
            came_to = await self._db.write(note)
            METRICS.count("posts.failed.count", channel=CHANNEL)
            told = {"run_id": post.run_id or "", "attempt": post.attempts + 1, "error": fault.message}
            _log.log(WARNING if came_to == "dropped" else INFO, f"post_{came_to}", extra=told)
            return None
        METRICS.count("posts.sent.count", channel=CHANNEL)
        return await self._db.write(partial(part_sent, post=post, parts=len(parts)))


class TelegramChannel:
    """The way out for what is said in a lane of its own accord: it is kept as a post and waited for."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._bell = db.bell(POSTS)

    async def post(self, post: Post) -> None:
        """Have it said where the lane was last spoken in; ChannelFault when it was dropped or there is no such place.

        Offered again under the same id it is not said again: the wait goes on. Whoever calls bounds it.
        """
        place = post.to or place_of_rest(post.key.rest)
        if place is None:
            raise ChannelFault("This session was never spoken in on Telegram.")
        access = system_access(post.account_id)
        await self._db.write(lambda tx: post_words(tx, access, CHANNEL, place, post.text, post_id=post.id))
        while True:
            version = self._bell.version
            kept = await self._db.read(lambda tx: post_by_id(tx, access, post.id))
            if kept is None or kept.state == "dropped":
                raise ChannelFault((kept.error if kept else None) or "It was dropped.")
            if kept.state == "sent":
                return
            await self._bell.wait(version, SAFETY_POLL_SECONDS)


def _seconds_until_due(tx: Tx) -> float:
    due_at = next_post_due(tx, CHANNEL)
    return SAFETY_POLL_SECONDS if due_at is None else max(0, due_at - tx.now) / MS_PER_SECOND

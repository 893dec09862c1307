"""Posting: says on Telegram what is kept for it, in order for each chat and at least once, beside the turns.

How far each post has come stands in the store: a restart goes on with the part it stood at, and several servers share
the work. A chat that cannot be reached holds up nobody but itself.
"""

from functools import partial
from logging import INFO, WARNING, getLogger

from msgspec import structs

from carrel.kernel import METRICS, Refusal, system_access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, TELEGRAM_POSTS_AT_A_TIME
from carrel.outbox import (
    POSTS,
    ChannelFault,
    ChannelMessage,
    Post,
    claim_post,
    next_post_due,
    part_sent,
    pass_over,
    post_by_id,
    post_failed,
    post_words,
    release_posts,
    take_posts,
)
from carrel.runs import Rules, run_by_id
from carrel.sessions import lane_of, require_sending
from carrel.storage import Database, LeasedDuty, Tx
from carrel.surfaces.telegram.bot import Bot, BotFault
from carrel.surfaces.telegram.messages import CHANNEL
from carrel.surfaces.telegram.phrases import outcome_words, parts_of
from carrel.surfaces.telegram.updates import chat_address_in_key

_log = getLogger("carrel.telegram")


class PostDuty(LeasedDuty[Post]):
    """Sends the posts of one store; several servers may do so side by side."""

    name = "posts"
    bell = POSTS
    items_max = TELEGRAM_POSTS_AT_A_TIME

    def __init__(self, db: Database, bot: Bot, rules: Rules) -> None:
        super().__init__(db)
        self._bot = bot
        self._rules = rules

    def release(self, tx: Tx) -> object:
        """End every claim of a server that is gone."""
        return release_posts(tx, CHANNEL)

    def next_due(self, tx: Tx) -> int | None:
        """When the next post may go out."""
        return next_post_due(tx, CHANNEL)

    def take(self, tx: Tx, limit: int) -> list[Post]:
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

    def _words(self, tx: Tx, post: Post) -> tuple[str | None, str]:
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

    async def do(self, item: Post) -> None:
        """Say every part of one post that is left."""
        held: Post | None = item
        parts = parts_of(item.text or "")
        while held is not None:
            held = await self._say(held, parts)

    async def _say(self, post: Post, parts: list[str]) -> Post | None:
        """Say the next part; the post while there is more and it is still ours."""
        try:
            await self._bot.say(post.chat_address, parts[post.parts_sent])
        except BotFault as fault:
            note = partial(
                post_failed, post=post, reason=fault.message, final=fault.final, after_seconds=fault.after_seconds
            )
            came_to = await self.db.write(note)
            METRICS.count("posts.failed.count", channel=CHANNEL)
            told = {"run_id": post.run_id or "", "attempt": post.attempts + 1, "error": fault.message}
            _log.log(WARNING if came_to == "dropped" else INFO, f"post_{came_to}", extra=told)
            return None
        METRICS.count("posts.sent.count", channel=CHANNEL)
        return await self.db.write(partial(part_sent, post=post, parts=len(parts)))


class TelegramChannel:
    """The way out for what is said in a lane of its own accord: it is kept as a post and waited for."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._bell = db.bell(POSTS)

    async def post(self, message: ChannelMessage) -> None:
        """Post a message to the last chat address of its lane; ChannelFault when it is dropped or there is none.

        Offered again under the same id it is not said again: the wait goes on. Whoever calls bounds it.
        """
        chat_address = message.to or chat_address_in_key(message.key.rest)
        if chat_address is None:
            raise ChannelFault("This session was never spoken in on Telegram.")
        access = system_access(message.account_id)
        await self._db.write(lambda tx: post_words(tx, access, CHANNEL, chat_address, message.text, post_id=message.id))
        while True:
            version = self._bell.version
            kept = await self._db.read(lambda tx: post_by_id(tx, access, message.id))
            if kept is None or kept.state == "dropped":
                raise ChannelFault((kept.error if kept else None) or "It was dropped.")
            if kept.state == "sent":
                return
            await self._bell.wait(version, SAFETY_POLL_SECONDS)

"""Sends the posts for Telegram, in order for each chat and at least once.

The progress of each post is stored: a restarted server continues with the next part, and several servers share the
work. A chat that cannot be reached holds up only itself.
"""

from collections.abc import Mapping
from functools import partial
from logging import INFO, WARNING, getLogger

from msgspec import structs

from carrel import outbox
from carrel.kernel import METRICS, Refusal, system_access
from carrel.kernel.limits import SAFETY_POLL_SECONDS, TELEGRAM_POSTS_AT_A_TIME, TELEGRAM_TOPIC_NAME_CHARS_MAX
from carrel.kernel.settings import TelegramSettings
from carrel.runs import Rules
from carrel.storage import Database, LeasedDuty, Tx
from carrel.surfaces.telegram.bot import Bot, BotFault
from carrel.surfaces.telegram.messages import CHANNEL
from carrel.surfaces.telegram.phrases import outcome_words, parts_of
from carrel.surfaces.telegram.updates import chat_address_in_key
from carrel.tools import NoChannelThread, OpenChannelThread
from carrel.wire import Wire

_log = getLogger("carrel.telegram")


class PostDuty(LeasedDuty[outbox.Post]):
    """Sends the posts of one database; several servers may do so at the same time."""

    name = "posts"
    bell = outbox.POSTS
    items_max = TELEGRAM_POSTS_AT_A_TIME

    def __init__(self, db: Database, bot: Bot, rules: Rules) -> None:
        super().__init__(db)
        self._bot = bot
        self._rules = rules

    def release(self, tx: Tx) -> object:
        """Release the claims of servers that are gone."""
        return outbox.release_posts(tx, CHANNEL)

    def next_due(self, tx: Tx) -> int | None:
        """Return when the next post may go out."""
        return outbox.next_post_due(tx, CHANNEL)

    def take(self, tx: Tx, limit: int) -> list[outbox.Post]:
        """Claim posts and fill in their texts; drop those that turn out to have nothing to send."""
        taken = []
        for post in outbox.take_posts(tx, CHANNEL, limit):
            text, why = (post.text, "") if post.text is not None else self._text(tx, post)
            claimed = structs.replace(post, text=text or "")
            outbox.claim_post(tx, post.access, claimed)
            if parts_of(claimed.text or ""):
                taken.append(claimed)
            else:
                outbox.drop_post(tx, claimed, why or "There is nothing to send.")
        return taken

    def _text(self, tx: Tx, post: outbox.Post) -> tuple[str | None, str]:
        """Return what is posted about a run, or why nothing is."""
        try:
            run = outbox.postable_run(tx, post, self._rules)
        except Refusal as refusal:
            _log.info("post_denied", extra={"run_id": post.run_id, "error_code": str(refusal.code)})
            return None, refusal.message
        if run is None:
            return None, "The run no longer exists."
        words = outcome_words(run, post.about or "")
        if words:
            words = outbox.with_speaker(tx, post.access, CHANNEL, post.chat_address, run.session_key, words)
        return words, ""

    async def do(self, item: outbox.Post) -> None:
        """Send the remaining parts of one post."""
        held: outbox.Post | None = item
        parts = parts_of(item.text or "")
        while held is not None:
            held = await self._send(held, parts)

    async def _send(self, post: outbox.Post, parts: list[str]) -> outbox.Post | None:
        """Send the next part; return the post while there is more to send and the claim still holds."""
        try:
            await self._bot.send(post.chat_address, parts[post.parts_sent])
        except BotFault as fault:
            note = partial(
                outbox.post_failed,
                post=post,
                reason=fault.message,
                final=fault.final,
                after_seconds=fault.after_seconds,
            )
            result = await self.db.write(note)
            METRICS.count("posts.failed.count", post.account_id, channel=CHANNEL)
            fields = {"run_id": post.run_id or "", "attempt": post.attempts + 1, "error": fault.message}
            _log.log(WARNING if result == "dropped" else INFO, f"post_{result}", extra=fields)
            return None
        METRICS.count("posts.sent.count", post.account_id, channel=CHANNEL)
        return await self.db.write(partial(outbox.part_sent, post=post, parts=len(parts)))


class TelegramChannel:
    """The outgoing channel for messages that no reply address belongs to: each is stored as a post and awaited."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._bell = db.bell(outbox.POSTS)

    async def post(self, message: outbox.ChannelMessage) -> None:
        """Post a message to the last chat address of its lane; ChannelFault if it is dropped or there is no address.

        Under the same id it is not sent again; the wait goes on. The caller limits the time.
        """
        chat_address = message.to or chat_address_in_key(message.key.rest)
        if chat_address is None:
            raise outbox.ChannelFault("This session was never used on Telegram.")
        access = system_access(message.account_id)
        await self._db.write(
            lambda tx: outbox.post_text(
                tx, access, CHANNEL, chat_address, message.text, post_id=message.id, speaker=message.key
            )
        )
        while True:
            version = self._bell.version
            kept = await self._db.read(lambda tx: outbox.post_by_id(tx, access, message.id))
            if kept is None or kept.state == "dropped":
                raise outbox.ChannelFault((kept.error if kept else None) or "The message was dropped.")
            if kept.state == "sent":
                return
            await self._bell.wait(version, SAFETY_POLL_SECONDS)


def channel_threads(wire: Wire, settings: TelegramSettings) -> Mapping[str, OpenChannelThread]:
    """Return how threads are opened on Telegram: as topics of a forum group."""
    bot = Bot(wire, settings)

    async def open_topic(chat_address: str, name: str) -> str:
        try:
            return await bot.open_topic(chat_address, name[:TELEGRAM_TOPIC_NAME_CHARS_MAX])
        except BotFault as fault:
            raise NoChannelThread(fault.message) from None

    return {CHANNEL: open_topic} if settings.enabled else {}


class Telegram:
    """The bot of the settings; without one, it has no channel and does nothing."""

    def __init__(self, db: Database, wire: Wire, settings: TelegramSettings, rules: Rules) -> None:
        self.bot = Bot(wire, settings)
        self._enabled = settings.enabled
        self._posting = PostDuty(db, self.bot, rules)
        self.channels: outbox.Channels = {CHANNEL: TelegramChannel(db)} if settings.enabled else {}

    async def serve(self) -> None:
        """Send posts until cancelled; without a bot there is nothing to do."""
        if self._enabled:
            await self._posting.serve()

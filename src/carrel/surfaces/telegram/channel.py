"""The bot of one server: its connection, its outgoing channel, and how it opens topics."""

from collections.abc import Mapping

from carrel.kernel.limits import TELEGRAM_TOPIC_NAME_CHARS_MAX
from carrel.kernel.settings import TelegramSettings
from carrel.outbox import Channels
from carrel.runs import Rules
from carrel.storage import Database
from carrel.surfaces.telegram.bot import Bot, BotFault
from carrel.surfaces.telegram.messages import CHANNEL
from carrel.surfaces.telegram.posts import PostDuty, TelegramChannel
from carrel.tools import NoChannelThread, OpenChannelThread
from carrel.wire import Wire


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
        self.channels: Channels = {CHANNEL: TelegramChannel(db)} if settings.enabled else {}

    async def serve(self) -> None:
        """Send posts until cancelled; without a bot there is nothing to do."""
        if self._enabled:
            await self._posting.serve()

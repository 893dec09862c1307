"""Telegram chats for tests: updates as Telegram sends them, and a server with a bot."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from msgspec import structs

from carrel.kernel.settings import ChannelsSettings, Settings, TelegramSettings
from tests.harness.server import HttpServer, open_http_server
from tests.surfaces.telegram.bot_api import TOKEN, BotApi

Json = dict[str, Any]
SECRET = "hook-5ecret_of-the-address"
OWNER = 1001
STRANGER = 2002
GROUP = -1003003
ADDRESS = f"/channels/telegram/{SECRET}"
_numbers = itertools.count(1)


def message(text: str | None = None, *, sender: int = OWNER, chat: Json | None = None, **more: Any) -> Json:
    """An update with one message; in the sender's private chat unless another chat is given."""
    person = {"id": sender, "is_bot": False, "first_name": f"Person {sender}", "language_code": "en"}
    private = {"id": sender, "type": "private", "first_name": f"Person {sender}"}
    number = next(_numbers)
    said = {"message_id": number, "date": 1_700_000_000, "from": person, "chat": chat or private, **more}
    return {"update_id": 900_000 + number, "message": said if text is None else {**said, "text": text}}


def group(**more: Any) -> Json:
    """A group."""
    return {"id": GROUP, "type": "supergroup", "title": "The team", "is_forum": True, **more}


def telegram_settings(api: BotApi, **changes: Any) -> Settings:
    """Settings with a bot."""
    bot = TelegramSettings(bot_token=TOKEN, webhook_secret=SECRET, api_base_url=api.url, owner_ids=(OWNER,))
    return Settings(channels=ChannelsSettings(telegram=structs.replace(bot, **changes)))


async def post(client: httpx.AsyncClient, update: Json) -> Json:
    """Send an update as Telegram does; what is answered, which must be that it was taken."""
    answer = await client.post(ADDRESS, json=update)
    assert answer.status_code == 200, answer.text
    taken: Json = answer.json()
    return taken


@asynccontextmanager
async def bot_house(url: str, settings: Settings, **more: Any) -> AsyncIterator[tuple[HttpServer, httpx.AsyncClient]]:
    """A server with a bot, and its owner's client; Telegram's requests need no token and may use it all the same."""
    async with (
        open_http_server(url, settings=settings, **more) as server,
        server.client(server.owner or None) as client,
    ):
        yield server, client

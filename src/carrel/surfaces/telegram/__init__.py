"""Telegram: messages come in by a bot's webhook, replies go out by the Bot API."""

from carrel.surfaces.telegram.posts import Telegram, channel_threads
from carrel.surfaces.telegram.webhook import routes

__all__ = ["Telegram", "channel_threads", "routes"]

"""Telegram: messages come in by a bot's webhook, replies go out by the Bot API."""

from carrel.surfaces.telegram.channel import Telegram, side_rooms
from carrel.surfaces.telegram.webhook import routes

__all__ = ["Telegram", "routes", "side_rooms"]

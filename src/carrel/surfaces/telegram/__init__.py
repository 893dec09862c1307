"""Telegram: a bot's webhook as a way in, and what agents say as a way out. It decides nothing about either."""

from carrel.surfaces.telegram.channel import Telegram, side_rooms
from carrel.surfaces.telegram.routes import routes

__all__ = ["Telegram", "routes", "side_rooms"]

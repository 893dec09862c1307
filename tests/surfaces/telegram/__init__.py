"""Talking to an agent on Telegram."""

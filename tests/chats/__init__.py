"""Tests of the room chats."""

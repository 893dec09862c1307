"""Tests of chat messages, commands and schedules."""

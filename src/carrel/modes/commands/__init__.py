"""Slash commands: one table, and what each command does."""

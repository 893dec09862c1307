"""Schedules: messages that are sent repeatedly, at the times of a cron expression."""

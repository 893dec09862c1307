"""Heartbeats: agents are woken at intervals to look at what has changed, and at their own tasks that need a look."""

from carrel.heartbeats.heartbeats import heartbeat_duty, observe_agents

__all__ = ["heartbeat_duty", "observe_agents"]

"""Tests of the room of tasks."""

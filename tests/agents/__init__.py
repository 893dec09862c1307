"""Tests of the room agents."""

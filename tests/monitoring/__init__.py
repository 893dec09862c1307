"""Tests of the room monitoring."""

"""Tests of the room board."""

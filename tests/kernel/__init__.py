"""Tests of the room kernel."""

"""Tests of the room workspaces."""

"""Tests of the room or property that the folder is named after."""

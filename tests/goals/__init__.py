"""Tests of goals and plans."""

"""Tests of heartbeats."""

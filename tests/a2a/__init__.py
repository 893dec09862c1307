"""Tests of the A2A protocol as values."""

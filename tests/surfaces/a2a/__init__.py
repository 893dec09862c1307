"""Tests of A2A as its clients meet it."""

"""Tests of A2A from the client's side."""

"""Tests of programs that this server runs."""

"""Tests of the surfaces, on real HTTP."""

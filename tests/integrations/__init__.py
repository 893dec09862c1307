"""Tests of what Carrel brings for other programs."""

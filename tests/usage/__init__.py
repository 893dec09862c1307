"""Tests of what runs cost."""

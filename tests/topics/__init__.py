"""Tests of topics and of what is visible in which spaces."""

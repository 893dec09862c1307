"""Tests of what people type in a chat."""

"""Tests of plan mode, auto runs and schedules."""

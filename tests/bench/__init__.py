"""Tests of the benchmarks: what they make of their measurements. Nothing is measured here."""

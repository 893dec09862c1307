"""Turns on a real store, spoken to through a real gateway."""

"""A2A 0.3, as older clients speak it."""

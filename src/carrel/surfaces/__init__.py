"""Protocols' ways in. They decide nothing; each is independent of the others. What they share is the house they stand in."""

from carrel.surfaces.house import House

__all__ = ["House"]

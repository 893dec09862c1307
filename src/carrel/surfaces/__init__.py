"""Protocols' ways in: they decide nothing and are independent of one another; all they share is the house."""

from carrel.surfaces.house import House

__all__ = ["House"]

"""Protocols' ways in: they decide nothing and are independent of one another; all they share is the house."""

from carrel.surfaces.house import House
from carrel.surfaces.identity import WrongTokens

__all__ = ["House", "WrongTokens"]

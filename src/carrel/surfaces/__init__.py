"""Protocols' ways in: they decide nothing and are independent of one another; all they share is the house."""

from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens

__all__ = ["House", "WrongTokens"]

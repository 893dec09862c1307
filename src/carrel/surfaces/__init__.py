"""One package per protocol. They translate and decide nothing; they share `http` and know nothing of one another."""

from carrel.surfaces.http.house import Configuration, House, Reloaded, WrongSettings
from carrel.surfaces.http.identity import WrongTokens

__all__ = ["Configuration", "House", "Reloaded", "WrongSettings", "WrongTokens"]

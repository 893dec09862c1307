"""One package per protocol. They translate and decide nothing; they share `http` and know nothing of one another."""

from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.services import Configuration, Reloaded, Services, WrongSettings

__all__ = ["Configuration", "Reloaded", "Services", "WrongSettings", "WrongTokens"]

"""The whole table of endpoints: importing a module adds its endpoints, and this imports every module of the surface."""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from carrel.surfaces.api.endpoint import ENDPOINTS

__all__ = ["ENDPOINTS"]

for _module in walk_packages([str(Path(__file__).parent)], f"{__package__}."):
    import_module(_module.name)

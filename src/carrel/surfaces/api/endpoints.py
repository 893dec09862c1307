"""The whole table of endpoints: importing a module adds its endpoints, and this imports every module of the surface."""

from importlib import import_module
from pkgutil import walk_packages

from carrel.surfaces import api
from carrel.surfaces.api.endpoint import ENDPOINTS

__all__ = ["ENDPOINTS"]

for _module in walk_packages(api.__path__, "carrel.surfaces.api."):
    import_module(_module.name)

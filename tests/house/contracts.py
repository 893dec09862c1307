"""Import contracts that import-linter does not bring itself; pyproject.toml says where each one holds.

A *room* is a package directly under the root (`carrel.runs`) or a surface (`carrel.surfaces.api`). Imports made
only for type checking count like all others: a name that is needed is a dependency.
"""

import ast
import importlib.util
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import grimp
from importlinter import Contract, ContractCheck, fields, output

ROOT = "carrel"
SURFACES = "carrel.surfaces"
# The package under `surfaces` that is not a surface: what all of them share.
SHARED = "http"


def surfaces_of(graph: grimp.ImportGraph) -> set[str]:
    """Return the surfaces: the packages under `surfaces`, but for the one that all of them share."""
    if SURFACES not in graph.modules:
        return set()
    # The graph does not tell a package that is one file from a module, so the folders are asked.
    spec = importlib.util.find_spec(ROOT)
    folders = [Path(place) / "surfaces" for place in (spec and spec.submodule_search_locations) or ()]
    names = {child.rpartition(".")[2]: child for child in graph.find_children(SURFACES)}
    own = names.keys() - {SHARED}
    return {names[name] for name in own if any((folder / name).is_dir() for folder in folders)}


def rooms_of(graph: grimp.ImportGraph) -> set[str]:
    """Return every room, including the surfaces."""
    return set(graph.find_children(ROOT)) | surfaces_of(graph)


def room_of(module: str, rooms: Iterable[str]) -> str | None:
    """Return the innermost room that contains the module, or None for the root itself and for foreign packages."""
    return max((room for room in rooms if is_within(module, room)), key=len, default=None)


@cache
def exports_of(room: str) -> frozenset[str]:
    """Return the names in the room's `__all__`; none where it is missing."""
    spec = importlib.util.find_spec(room)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8")) if spec and spec.origin else ast.Module([], [])
    lists = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return frozenset(name for found in lists for name in ast.literal_eval(found))


def is_within(module: str, package: str) -> bool:
    """Return whether the module is the package or inside it."""
    return module == package or module.startswith(f"{package}.")


def imports_of(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Yield every direct import made inside Carrel, as (importer, imported)."""
    for importer in sorted(graph.modules):
        if is_within(importer, ROOT):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                yield importer, imported


class CarrelContract(Contract):
    """A contract whose violations are lines of text, each one naming what to change."""

    type_name: ClassVar[str]

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield one line per violation."""
        raise AssertionError("each contract says what breaks it")

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Keep the contract if nothing violates it."""
        found = sorted(set(self.violations(graph)))
        return ContractCheck(kept=not found, metadata={"violations": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the violations."""
        for line in check.metadata["violations"]:
            output.print_error(f"- {line}", bold=False)
        output.new_line()


class OnlyExports(CarrelContract):
    """No room imports another room's inner module, only its `__init__`.

    `public` names the modules that are long tables of names and may be imported as they are.
    """

    type_name = "exports"
    public = fields.SetField(subfield=fields.StringField(), required=False, default=())

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield each import of an inner module."""
        rooms = rooms_of(graph)
        for importer, imported in imports_of(graph):
            room = room_of(imported, rooms)
            if room is None or imported == room or is_within(importer, room) or imported in set(self.public):  # type: ignore[call-overload]
                continue
            # The graph cannot tell an exported name from a module that bears it.
            if imported in {f"{room}.{name}" for name in exports_of(room)}:
                continue
            yield f"{importer} imports {imported}; use what {room} exports"


class IndependentSurfaces(CarrelContract):
    """No surface knows another one, directly or by way of a third module."""

    type_name = "independent_surfaces"

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield each pair of surfaces of which one reaches the other."""
        layer = grimp.Layer(*surfaces_of(graph), independent=True)
        for dependency in graph.find_illegal_dependencies_for_layers(layers=[layer]) if layer.module_tails else ():
            yield f"{dependency.importer} reaches {dependency.imported}"


class StoreOverModel(CarrelContract):
    """In every room `model` imports neither `store` nor the room's `__init__`."""

    type_name = "store_over_model"

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield each chain by which a model depends on what is above it."""
        for model in sorted(module for module in graph.modules if module.endswith(".model")):
            room = model.removesuffix(".model")
            for above in (f"{room}.store", room):
                chain = graph.find_shortest_chain(importer=model, imported=above) if above in graph.modules else None
                if chain:
                    yield " -> ".join(chain)


class NoCycles(CarrelContract):
    """No module depends on itself by any chain, not even inside one room or by its `__init__`."""

    type_name = "no_cycles"

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield each cycle once, beginning with the name that sorts first."""
        seen: set[str] = set()
        for importer, imported in imports_of(graph):
            if importer in seen or not is_within(imported, ROOT):
                continue
            chain = graph.find_shortest_chain(importer=imported, imported=importer)
            if chain:
                seen.update(chain)
                yield " -> ".join((importer, *chain))


class Reserved(CarrelContract):
    """The listed modules, ours or foreign ones, are imported by the listed packages only."""

    type_name = "reserved"

    modules: Any = fields.SetField(subfield=fields.StringField())
    importers: Any = fields.SetField(subfield=fields.StringField())

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield each import of a reserved module from elsewhere."""
        for importer, imported in imports_of(graph):
            reserved = next((module for module in self.modules if is_within(imported, module)), None)
            if reserved and not any(is_within(importer, allowed) for allowed in (*self.importers, reserved)):
                yield f"{importer} imports {imported}, which is reserved to {', '.join(sorted(self.importers))}"


class Reach(CarrelContract):
    """The package imports nothing of Carrel but the listed packages and itself."""

    type_name = "reach"

    package: Any = fields.StringField()
    imports: Any = fields.SetField(subfield=fields.StringField())

    def violations(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Yield each import that goes further than the package may."""
        allowed = (self.package, *self.imports)
        for importer, imported in imports_of(graph):
            inside = is_within(importer, self.package) and is_within(imported, ROOT)
            if inside and not any(is_within(imported, package) for package in allowed):
                yield f"{importer} imports {imported}; it may know only {', '.join(sorted(self.imports))}"

"""Every room lists in its `__init__` what other rooms use, describes it, and exports nothing else."""

import ast
from functools import cache

import pytest

from tests.house.source import PACKAGE, ROOT, Source, house_sources, type_of_function

# Nothing imports a name from `main` or `surfaces`, and the modules of `surfaces.http` are imported as they are.
ROOMS_WITHOUT_EXPORTS = {"carrel", "carrel.main", "carrel.surfaces", "carrel.surfaces.http"}
# What it exports is for programs of others.
PUBLIC_ROOMS = {"carrel.bridge"}


def room_inits() -> list[Source]:
    """Return the `__init__` of every room, the surfaces' among them."""
    doors = [source for source in house_sources() if source.name == "__init__.py"]
    rooms = [door for door in doors if door.module.count(".") == 1]
    surfaces = [door for door in doors if door.module.startswith("carrel.surfaces.") and door.module.count(".") == 2]
    return [door for door in (*rooms, *surfaces) if door.module not in ROOMS_WITHOUT_EXPORTS]


def exported(source: Source) -> list[str] | None:
    """Return the names in `__all__`, or None where it is missing."""
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.Assign) and any(
            isinstance(name, ast.Name) and name.id == "__all__" for name in targets
        ):
            names = ast.literal_eval(node.value)
            return [str(name) for name in names]
    return None


def definition(module: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """Return the definition of a function or class of the module, following imports; None for any other value."""
    source = next((source for source in house_sources() if source.module == module), None)
    for node in source.tree.body if source else ():
        if isinstance(node, (*type_of_function, ast.ClassDef)) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return definition(node.module, alias.name)
    return None


@pytest.mark.parametrize("door", room_inits(), ids=lambda door: door.module)
def test_the_room_lists_what_others_may_use_and_describes_it(door: Source) -> None:
    names = exported(door)
    assert names is not None, f"{door.path} has no __all__"
    found = {name: definition(door.module, name) for name in names}
    silent = [name for name, node in found.items() if node and not ast.get_docstring(node)]
    assert not silent, f"{door.module} exports without a docstring: {', '.join(silent)}"


@cache
def imported() -> set[tuple[str, str]]:
    """Return every (module, name) that a file imports from a package that it is not in, or reads from it."""
    found = set()
    for source in house_sources():
        nodes = [*ast.walk(source.tree)]
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        names = {(node.module or "", alias.name) for node in imports for alias in node.names}
        modules = {name: f"{module}.{name}" for module, name in names if module == "carrel"}
        names |= {
            (modules[node.value.id], node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
        }
        found |= {(module, name) for module, name in names if not f"{source.module}.".startswith(f"{module}.")}
    return found


@pytest.mark.parametrize("door", room_inits(), ids=lambda door: door.module)
def test_what_the_room_exports_is_used_by_another(door: Source) -> None:
    names = [] if door.module in PUBLIC_ROOMS else exported(door) or []
    unused = [name for name in names if (door.module, name) not in imported()]
    assert not unused, f"no other room imports from {door.module}: {', '.join(unused)}"


def test_every_folder_with_python_in_it_is_a_package() -> None:
    bare = {path.parent for path in PACKAGE.rglob("*.py")} - {path.parent for path in PACKAGE.rglob("__init__.py")}
    assert not bare, f"no __init__.py in {', '.join(sorted(str(folder.relative_to(ROOT)) for folder in bare))}"

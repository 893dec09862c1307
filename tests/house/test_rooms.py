"""Every room has a front door that says what the house may use, and what it offers is described."""

import ast
from functools import cache

import pytest

from tests.house.source import PACKAGE, ROOT, Source, house_sources, type_of_function

# `main` is where everything begins and `surfaces` only holds the surfaces: nobody imports either by a name.
ROOMS_WITHOUT_EXPORTS = {"carrel", "carrel.main", "carrel.surfaces"}


def front_doors() -> list[Source]:
    """Return the `__init__` of every room, the surfaces' among them."""
    doors = [source for source in house_sources() if source.name == "__init__.py"]
    rooms = [door for door in doors if door.module.count(".") == 1]
    surfaces = [door for door in doors if door.module.startswith("carrel.surfaces.") and door.module.count(".") == 2]
    return [door for door in (*rooms, *surfaces) if door.module not in ROOMS_WITHOUT_EXPORTS]


def exported(source: Source) -> list[str] | None:
    """Return the names in `__all__`, or None where there is none."""
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.Assign) and any(
            isinstance(name, ast.Name) and name.id == "__all__" for name in targets
        ):
            names = ast.literal_eval(node.value)
            return [str(name) for name in names]
    return None


def definition(module: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """Return where the module defines the function or class, following imports; None for any other value."""
    source = next((source for source in house_sources() if source.module == module), None)
    for node in source.tree.body if source else ():
        if isinstance(node, (*type_of_function, ast.ClassDef)) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return definition(node.module, alias.name)
    return None


@pytest.mark.parametrize("door", front_doors(), ids=lambda door: door.module)
def test_the_room_lists_what_the_house_may_use_and_describes_it(door: Source) -> None:
    names = exported(door)
    assert names is not None, f"{door.path} has no __all__"
    found = {name: definition(door.module, name) for name in names}
    silent = [name for name, node in found.items() if node and not ast.get_docstring(node)]
    assert not silent, f"{door.module} exports without a docstring: {', '.join(silent)}"


@cache
def imported() -> set[tuple[str, str]]:
    """Return every (module, name) that some file imports, the measurements and the tests among them."""
    files = [path for folder in (PACKAGE, ROOT / "tests", ROOT / "bench") for path in folder.rglob("*.py")]
    nodes = [
        node for path in files for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    return {(node.module or "", alias.name) for node in nodes for alias in node.names}


@pytest.mark.parametrize("door", front_doors(), ids=lambda door: door.module)
def test_what_the_room_offers_is_used(door: Source) -> None:
    unused = [name for name in exported(door) or () if (door.module, name) not in imported()]
    assert not unused, f"nobody imports from {door.module}: {', '.join(unused)}"


@pytest.mark.parametrize("door", front_doors(), ids=lambda door: door.module)
def test_no_module_bears_the_name_of_something_its_room_exports(door: Source) -> None:
    inner = {
        source.module.rpartition(".")[2] for source in house_sources() if source.module.startswith(door.module + ".")
    }
    assert not inner & set(exported(door) or ())


def test_every_folder_with_python_in_it_is_a_package() -> None:
    bare = {path.parent for path in PACKAGE.rglob("*.py")} - {path.parent for path in PACKAGE.rglob("__init__.py")}
    assert not bare, f"no __init__.py in {', '.join(sorted(str(folder.relative_to(ROOT)) for folder in bare))}"

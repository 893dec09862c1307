"""Rules for the test suite: each takes one of its files and yields what breaks the rule in it."""

import ast
from collections.abc import Iterator

from tests.house.exceptions import BY_THE_CLOCK, MADE_TO_BE_SUBCLASSED, STAND_INS
from tests.house.rules import CLOCK_READINGS, LOOPS, dotted, imported_modules
from tests.house.source import Source

# Whatever waits for less passes or fails by how busy the machine is.
WAIT_SECONDS_MIN = 5
# Where the bound of each wait stands among its arguments.
WAITS = {
    "wait": (0, 1), "wait_for": (1,), "timeout": (0,), "timeout_at": (0,), "fail_after": (0,), "move_on_after": (0,),
    "join": (0,), "within": (1,),
}  # fmt: skip
BOUNDS = {"timeout", "timeout_seconds", "seconds_max", "delay"}
STAND_IN_MODULES = ("unittest.mock", "types.SimpleNamespace")


def _lives_in_real_time(source: Source) -> bool:
    return any(source.path == path or (path.endswith("/") and source.path.startswith(path)) for path in BY_THE_CLOCK)


def _seconds(source: Source) -> dict[str, object]:
    """Return the constants of a file by their names."""
    return {
        target.id: node.value.value
        for node in source.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _bounds_of(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a wait that may say how long it is."""
    name = _last(call)
    if name not in WAITS:
        return []
    positional = [call.args[at] for at in WAITS[name] if at < len(call.args)]
    return [*positional, *(keyword.value for keyword in call.keywords if keyword.arg in BOUNDS)]


def _last(node: ast.AST) -> str:
    return dotted(node).rpartition(".")[2]


def no_test_waits_by_the_clock(source: Source) -> Iterator[str]:
    """Tests wait for what happens, and a bound only ends a test that hangs: no sleeps, and no short bounds."""
    if _lives_in_real_time(source):
        return
    named = _seconds(source)
    for call in (node for node in source.nodes if isinstance(node, ast.Call)):
        where = f"{source.path}:{call.lineno}: {dotted(call)}"
        first = call.args[0] if call.args else None
        # Sleeping for zero seconds waits for nothing: it lets other tasks run.
        if _last(call) == "sleep" and not (isinstance(first, ast.Constant) and first.value == 0):
            yield where
        if _last(call) == "wait" and isinstance(first, ast.Attribute) and first.attr == "version":
            yield f"{where} is given a version that is read after the look: a ring in between is missed"
        for bound in _bounds_of(call):
            seconds = named.get(bound.id) if isinstance(bound, ast.Name) else getattr(bound, "value", None)
            if type(seconds) in (int, float) and 0 < seconds < WAIT_SECONDS_MIN:  # type: ignore[operator]
                yield f"{where} waits for less than {WAIT_SECONDS_MIN} s"


def no_test_reads_the_clock(source: Source) -> Iterator[str]:
    """No test measures how long something takes: it counts what is done instead."""
    if _lives_in_real_time(source):
        return
    for line, name in imported_modules(source):
        module, _, member = name.rpartition(".")
        if (module == "time" and member in CLOCK_READINGS) or member == "elapsed_seconds":
            yield f"{source.path}:{line}: {name}"
    for call in (node for node in source.nodes if isinstance(node, ast.Call)):
        owner, _, reading = dotted(call).rpartition(".")
        if (owner == "time" and reading in CLOCK_READINGS) or (owner.rpartition(".")[2] in LOOPS and reading == "time"):
            yield f"{source.path}:{call.lineno}: {dotted(call)}"


def _ours(source: Source) -> set[str]:
    """Return the names under which a file knows our code: what it imports of it, and what it calls that in a loop."""
    found = {"carrel"}
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "carrel":
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname for alias in node.names if alias.asname and alias.name.partition(".")[0] == "carrel"}
    loops = [node for node in source.nodes if isinstance(node, ast.For) and isinstance(node.target, ast.Name)]
    for loop in loops:
        items = loop.iter.elts if isinstance(loop.iter, ast.Tuple | ast.List) else []
        if any(isinstance(item, ast.Name) and item.id in found for item in items):
            found.add(loop.target.id)  # type: ignore[attr-defined]
    return found


def _is_ours(node: ast.AST, ours: set[str]) -> bool:
    if isinstance(node, ast.Constant):
        return str(node.value).partition(".")[0] == "carrel"
    return dotted(node).partition(".")[0] in ours


def _replaced(source: Source, ours: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of every attribute of our code that is replaced."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and _last(node) == "setattr" and node.args and _is_ours(node.args[0], ours):
            named = node.args[0] if isinstance(node.args[0], ast.Constant) else node.args[1]
            yield node.lineno, str(getattr(named, "value", "")).rpartition(".")[2]
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and _is_ours(target.value, ours):
                    yield node.lineno, target.attr


def _imitated(source: Source, ours: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of what is passed off as our code: by inheriting from it, or past the type checker."""
    own = {node.name for node in source.nodes if isinstance(node, ast.ClassDef)}
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
            ancestors = {_last(base) for base in bases if _is_ours(base, ours)}
            if ancestors - MADE_TO_BE_SUBCLASSED.keys():
                yield node.lineno, node.name
        elif isinstance(node, ast.Call):
            if _last(node) == "cast" and _is_ours(node.args[0], ours):
                yield node.lineno, ast.unparse(node.args[0])
            passed = [*node.args, *(keyword.value for keyword in node.keywords)]
            if "arg-type" in source.comments.get(node.end_lineno or node.lineno, ""):
                yield from (
                    (node.lineno, dotted(one)) for one in passed if isinstance(one, ast.Call) and dotted(one) in own
                )


def no_test_stands_in_for_our_code(source: Source) -> Iterator[str]:
    """Tests run our own code as it is: nothing of it is mocked, replaced, overridden or imitated."""
    for line, name in imported_modules(source):
        if name.startswith(STAND_IN_MODULES):
            yield f"{source.path}:{line}: {name}"
    ours = _ours(source)
    for line, name in (*_replaced(source, ours), *_imitated(source, ours)):
        if f"{source.path}: {name}" not in STAND_INS:
            yield f"{source.path}:{line}: {name}"


SUITE_RULES = (no_test_waits_by_the_clock, no_test_reads_the_clock, no_test_stands_in_for_our_code)

"""Rules that the syntax tree shows: each takes one file and yields what breaks the rule in it."""

import ast
import re
from collections.abc import Iterable, Iterator

from tests.house.exceptions import SQL_FILES, STORE_SIGNATURES
from tests.house.source import Source, type_of_function

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
FUNCTION_LINES_P90 = 20
CLOCK_FILE = "src/carrel/kernel/clock.py"
CHANCE_FILE = "src/carrel/kernel/ids.py"
CLOCK_READINGS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}
DATE_READINGS = {"now", "utcnow", "today"}
LOOPS = {"loop", "get_running_loop", "get_event_loop"}
CHANCE_MODULES = {"random", "secrets", "uuid"}
HTTP_MODULES = {"urllib.request", "http.client"}
HTTP_ROOMS = ("src/carrel/wire/", "src/carrel/bridge/")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SQL = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|WITH\s+(RECURSIVE\s+)?\w+\s+AS\s"
    r"|CREATE\s+(TABLE|(UNIQUE\s+)?INDEX|VIRTUAL|TRIGGER)\s|ALTER\s+TABLE\s|DROP\s+(TABLE|INDEX)\s|PRAGMA\s)"
)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for an attribute of names, looking through calls; only the last part where that fails."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything that is imported, members as well as modules."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has, without its decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def most_functions_are_small(sources: Iterable[Source]) -> Iterator[str]:
    """Nine functions of ten fit into twenty lines, over all files together."""
    functions = [node for source in sources for node in source.nodes if isinstance(node, type_of_function)]
    lengths = sorted(map(lines_of, functions))
    if lengths and (ninth := lengths[len(lengths) * 9 // 10]) > FUNCTION_LINES_P90:
        yield f"one function in ten has {ninth} lines or more; {FUNCTION_LINES_P90} are enough"


def files_and_functions_are_short(source: Source) -> Iterator[str]:
    """Files and functions are short enough to read at once."""
    lines = source.text.count("\n")
    if lines > FILE_LINES_MAX:
        yield f"{source.path}: {lines} lines, at most {FILE_LINES_MAX}"
    for node in source.nodes:
        if isinstance(node, type_of_function):
            length = lines_of(node)
            if length > FUNCTION_LINES_MAX:
                yield f"{source.path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES_MAX}"


def modules_have_docstrings(source: Source) -> Iterator[str]:
    """Every module has a docstring."""
    if not ast.get_docstring(source.tree):
        yield f"{source.path}: no docstring"


def only_the_clock_reads_the_time(source: Source) -> Iterator[str]:
    """Only the clock reads the time; everything else gets it as an argument."""
    if source.path == CLOCK_FILE:
        return
    for line, name in imported_modules(source):
        module, _, member = name.rpartition(".")
        if module == "time" and member in CLOCK_READINGS:
            yield f"{source.path}:{line}: {name}"
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            owner = dotted(node.value).rsplit(".", 1)[-1]
            reads_clock = node.attr in CLOCK_READINGS and owner == "time"
            reads_date = node.attr in DATE_READINGS and owner in {"datetime", "date"}
            reads_loop = node.attr == "time" and owner in LOOPS
            if reads_clock or reads_date or reads_loop or (node.attr, owner) == ("current_time", "anyio"):
                yield f"{source.path}:{node.lineno}: {owner}.{node.attr}"


def only_ids_draw_chance(source: Source) -> Iterator[str]:
    """Only the ids draw random numbers; everything else gets them as an argument."""
    if source.path == CHANCE_FILE:
        return
    for line, name in imported_modules(source):
        if name in CHANCE_MODULES or name == "os.urandom":
            yield f"{source.path}:{line}: import of {name}"
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and dotted(node) == "os.urandom":
            yield f"{source.path}:{node.lineno}: os.urandom"


def broad_catches_name_their_boundary(source: Source) -> Iterator[str]:
    """A broad catch stands at a boundary that keeps other work alive, and a comment says which.

    A handler that ends by raising again only cleans up.
    """
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            if isinstance(last, ast.Raise) and last.exc is None:
                continue
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        elif isinstance(node, ast.Call) and dotted(node).endswith("suppress"):
            caught = node.args
        else:
            continue
        broad = any(kind is None or dotted(kind) in {"Exception", "BaseException"} for kind in caught)
        near = " ".join(source.comments.get(line, "") for line in range(node.lineno - 1, node.lineno + 2))
        if broad and "boundary" not in near.lower():
            yield f"{source.path}:{node.lineno}: a broad catch without a comment that names the boundary"


def nothing_is_left_unfinished(source: Source) -> Iterator[str]:
    """Nothing unfinished is committed."""
    for line, comment in source.comments.items():
        if UNFINISHED.search(comment):
            yield f"{source.path}:{line}: {comment}"
    for node in source.nodes:
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield f"{source.path}:{node.lineno}: NotImplementedError"


def store_functions_begin_with_tx_and_access(source: Source) -> Iterator[str]:
    """Every function of a store takes the transaction and the access first."""
    if not source.is_store:
        return
    for node in source.tree.body:
        if not isinstance(node, type_of_function) or node.name.startswith("_"):
            continue
        first_two = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)][:2]
        if first_two != ["tx", "access"] and f"{source.module}.{node.name}" not in STORE_SIGNATURES:
            yield f"{source.path}:{node.lineno}: {node.name} does not begin with tx, access"


def stores_bind_the_account_by_the_access(source: Source) -> Iterator[str]:
    """A statement's account comes from the access it is executed with, so that none can be given another by mistake."""
    if source.is_store:
        for node in source.nodes:
            if isinstance(node, ast.keyword) and node.arg == "account":
                yield f"{source.path}:{node.value.lineno}: pass the access instead of account=..."


def sql_stands_in_stores(source: Source) -> Iterator[str]:
    """SQL is written only in stores and in the room storage."""
    if source.is_store or source.path.startswith("src/carrel/storage/") or source.path in SQL_FILES:
        return
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
            yield f"{source.path}:{node.lineno}: {node.value.strip()[:40]!r}"


def work_is_started_in_groups(source: Source) -> Iterator[str]:
    """Asyncio tasks are started in a group that waits for them, so that none outlives its owner."""
    for line, name in imported_modules(source):
        if name in {"asyncio.create_task", "asyncio.ensure_future"}:
            yield f"{source.path}:{line}: {name}"
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in {"create_task", "ensure_future"}:
            owner = dotted(node.value).rsplit(".", 1)[-1]
            if node.attr == "ensure_future" or owner == "asyncio" or owner in LOOPS:
                yield f"{source.path}:{node.lineno}: {owner}.{node.attr}"


def only_wire_and_bridge_make_requests(source: Source) -> Iterator[str]:
    """The standard library's HTTP clients are used only where the others are."""
    if not source.path.startswith(HTTP_ROOMS):
        for line, name in imported_modules(source):
            if name in HTTP_MODULES:
                yield f"{source.path}:{line}: import of {name}"


RULES = (
    files_and_functions_are_short,
    modules_have_docstrings,
    only_the_clock_reads_the_time,
    only_ids_draw_chance,
    broad_catches_name_their_boundary,
    nothing_is_left_unfinished,
    store_functions_begin_with_tx_and_access,
    stores_bind_the_account_by_the_access,
    sql_stands_in_stores,
    work_is_started_in_groups,
    only_wire_and_bridge_make_requests,
)

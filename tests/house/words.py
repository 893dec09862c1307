"""Words that say nothing, which no name of ours may contain. What libraries call things is theirs."""

import ast
import re
from collections.abc import Iterator

from tests.house.source import Source, type_of_function

REFUSED = {"ctx", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def words_of(name: str) -> list[str]:
    """Split snake_case, CamelCase and CAPITALS into lower-case words."""
    return [part.lower() for part in PARTS.findall(name)]


def defined_names(source: Source) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that the file itself names, beginning with the file."""
    yield 1, source.module.rsplit(".", 1)[-1]
    for node in source.nodes:
        if isinstance(node, (*type_of_function, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def names_say_something(source: Source) -> Iterator[str]:
    """No name contains a word that fits everything; name the thing after what it is or does."""
    for line, name in defined_names(source):
        for word in REFUSED.intersection(words_of(name)):
            yield f"{source.path}:{line}: {name} contains {word!r}"

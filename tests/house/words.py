"""The words the house does not use, and where names with them are defined. What libraries call things is theirs."""

import ast
import re
from collections.abc import Iterator

from tests.house.contracts import is_within
from tests.house.exceptions import WORDS
from tests.house.source import Source, type_of_function

# The glossary has a word for what each of these would hide. `context` and `task` are the glossary's own; that they are
# used in no other sense is for a reviewer to see.
REFUSED = {
    "conversation": "say session",
    "ctx": "write the word",
    "data": "say what it is",
    "helper": "say what it does",
    "helpers": "say what it does",
    "info": "say what it is",
    "job": "say run",
    "jobs": "say runs",
    "manager": "say what it does",
    "payload": "say what it is",
    "process": "say what is done",
    "service": "say what it does",
    "thread": "say the task's entries",
    "util": "say what it does",
    "utils": "say what it does",
}
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def words_of(name: str) -> list[str]:
    """Split snake_case, CamelCase and CAPITALS into lower-case words."""
    return [part.lower() for part in PARTS.findall(name)]


def defined_names(source: Source) -> Iterator[tuple[int, str]]:
    """Yield line and name of all that the file itself names."""
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


def names_use_the_glossary(source: Source) -> Iterator[str]:
    """No name that the house gives contains a word that says nothing or has another name here."""
    allowed = [
        phrase for phrase, (places, _) in WORDS.items() if any(is_within(source.module, room) for room in places)
    ]
    for line, name in defined_names(source):
        rest = "_".join(words_of(name))
        for phrase in sorted(allowed, key=len, reverse=True):
            rest = re.sub(rf"(^|_){phrase}(?=_|$)", "", rest)
        for word in words_of(rest):
            if word in REFUSED:
                yield f"{source.path}:{line}: {name}: {REFUSED[word]}"

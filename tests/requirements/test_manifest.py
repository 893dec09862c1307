"""Promises and proofs belong together: no built behaviour without a test, no test of an unknown behaviour."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.requirements.manifest import AREAS, BUILT, DEFERRED, PARTIAL, explain

TESTS = Path(__file__).resolve().parents[1]
ID = re.compile(r"([AIPT]|S[0-4])(\.[a-z0-9]+)+")


def named_in(text: str, where: str) -> dict[str, list[str]]:
    """Return the ids that tests in the text name, each with the lines that name it.

    It reads the source instead of asking pytest, so that it covers the whole suite even when only a part of it runs.
    """
    found: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            marked = any(is_mark(decorator) for decorator in node.decorator_list)
            assert not marked or node.name.lower().startswith("test"), f"{where}: {node.name} is not a test"
        if isinstance(node, ast.Call) and is_mark(node):
            for argument in node.args:
                literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                assert literal, f"{where}:{node.lineno}: write the id as a literal string"
                found.setdefault(str(ast.literal_eval(argument)), []).append(f"{where}:{node.lineno}")
    return found


def is_mark(node: ast.expr) -> bool:
    """Return whether the expression is a call of `requirement`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement"


@cache
def named_by_tests() -> dict[str, list[str]]:
    """Return what the whole suite names."""
    named: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, lines in named_in(path.read_text(encoding="utf-8"), str(path.relative_to(TESTS.parent))).items():
            named.setdefault(name, []).extend(lines)
    return named


def test_every_built_behaviour_is_proved_by_a_test() -> None:
    unproved = [explain(name) for name in sorted(BUILT.keys() - named_by_tests().keys())]
    assert not unproved, "\n".join(["no test names these:", *unproved])


def test_every_behaviour_a_test_names_is_built() -> None:
    strange = {name: lines for name, lines in named_by_tests().items() if name not in BUILT}
    found = [
        f"{explain(name)} {'(deferred: move it to BUILT) ' if name in DEFERRED else ''}in {', '.join(lines)}"
        for name, lines in sorted(strange.items())
    ]
    assert not found, "\n".join(found)


def test_what_is_partly_built_is_built_and_explains_what_is_open() -> None:
    assert PARTIAL.keys() <= BUILT.keys()
    assert all(explain(name).endswith(f"Still open: {PARTIAL[name]}") for name in PARTIAL)


def test_every_id_is_listed_once_with_a_sentence_on_one_line() -> None:
    tables = [table for area in AREAS for table in (area.BUILT, *area.DEFERRED.values())]
    listed = [name for table in tables for name in table]
    assert len(listed) == len(set(listed)) == len(BUILT) + len(DEFERRED), "an id is listed twice"
    assert all(ID.fullmatch(name) for name in listed)
    for name, sentence in (pair for table in tables for pair in table.items()):
        assert len(sentence.split()) > 2, f"{name} says too little"
        assert sentence.endswith("."), f"{name}: end the sentence with a period"
        assert "\n" not in sentence, f"{name}: one line is enough"


def test_the_scan_finds_marks_and_refuses_what_it_could_not_read() -> None:
    marked = '@requirement("S1.a", "S1.b")\ndef test_it(): ...\n'
    assert named_in(marked, "f") == {"S1.a": ["f:1"], "S1.b": ["f:1"]}
    for unreadable in ("@requirement(NAME)\ndef test_it(): ...\n", '@requirement("S1.a")\ndef fixture(): ...\n'):
        with pytest.raises(AssertionError):
            named_in(unreadable, "f")

"""Committed files name no machine and no registry, and tests neither sleep nor mock."""

import ast
import re

import pytest

from tests.house.rules import dotted, imported_modules
from tests.house.source import Source, suite_sources, tracked_texts

# Written in parts, so that this file does not break its own rule.
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "yarn" + "pkg.com"]
PLACES = [r"(?<![\w.}>*-])/" + rf"{folder}/\w" for folder in ("root", "home", "Users", "work", "mnt", "workspace")]
REFUSED = re.compile("|".join([*map(re.escape, REGISTRIES), *PLACES]))


def strange_words(text: str) -> list[str]:
    """Return the words that name a machine or a registry."""
    return REFUSED.findall(text)


def test_committed_files_name_no_machine_path_and_no_registry() -> None:
    found = [f"{path}: {', '.join(words)}" for path, text in tracked_texts() if (words := strange_words(text))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("see /" + "home/ann/notes", True),
        ("in /" + "work/main", True),
        ("https://" + REGISTRIES[0] + "/simple", True),
        ("src/carrel/board/store.py", False),
        ("a room called work/ and a /home page", False),
    ],
)
def test_the_rule_tells_a_machine_path_from_a_path_of_ours(text: str, refused: bool) -> None:
    assert bool(strange_words(text)) == refused


def sleeps_and_mocks(source: Source) -> list[str]:
    """Return the lines of a test file that wait by the clock or mock our own code."""
    found = [f"{source.path}:{line}: {name}" for line, name in imported_modules(source) if name == "unittest.mock"]
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node) in {"time.sleep", "asyncio.sleep", "anyio.sleep"}:
            length = node.args[0] if node.args else None
            # Sleeping for zero seconds waits for nothing: it lets other tasks run.
            if isinstance(length, ast.Constant) and length.value == 0:
                continue
            found.append(f"{source.path}:{node.lineno}: {dotted(node)}")
    return found


def test_no_test_sleeps_and_none_mocks_our_own_code() -> None:
    tests = [source for source in suite_sources() if source.name.startswith("test_")]
    found = [line for source in tests for line in sleeps_and_mocks(source)]
    assert not found, "\n".join(found)


def test_the_rule_for_tests_notices_a_sleep_and_a_mock() -> None:
    assert sleeps_and_mocks(Source("tests/test_a.py", "time.sleep(1)\n"))
    assert sleeps_and_mocks(Source("tests/test_a.py", "from unittest.mock import Mock\n"))
    assert not sleeps_and_mocks(Source("tests/test_a.py", "await asyncio.sleep(0)\n"))

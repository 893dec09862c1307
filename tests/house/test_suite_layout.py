"""Where things of the suite are: a fixture in one place, and the tests of a module in the file of its name."""

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.house.rules import dotted
from tests.house.source import Source, house_sources, suite_sources, type_of_function

DEFINITIONS_MAX = 3
NAMED_SHARE_MIN = 0.5


def fixtures_defined_too_often(sources: Iterable[Source]) -> list[str]:
    """Return the names of fixtures that more files define than may."""
    defined = Counter(
        node.name
        for source in sources
        for node in source.nodes
        if isinstance(node, type_of_function)
        and any(dotted(getattr(mark, "func", mark)).endswith("fixture") for mark in node.decorator_list)
    )
    return sorted(name for name, times in defined.items() if times > DEFINITIONS_MAX)


def share_with_tests_of_their_name(modules: Iterable[str], tests: set[str]) -> float:
    """Return the share of modules with a test file of their name in the folder that mirrors theirs."""
    wanted = [module.replace("src/carrel/", "tests/").rpartition("/") for module in modules]
    named = [f"{folder}/test_{name}" in tests for folder, _, name in wanted if not name.startswith("__")]
    return sum(named) / len(named)


def test_no_fixture_is_defined_in_more_than_three_places() -> None:
    often = fixtures_defined_too_often(suite_sources())
    assert not often, f"{', '.join(often)}: put one into the nearest common conftest.py, or name what differs"


@pytest.mark.parametrize("mark", ["@pytest.fixture", "@pytest.fixture(scope='module')", "@fixture"])
def test_a_fixture_that_is_defined_once_more_is_noticed(mark: str) -> None:
    places = [Source(f"tests/test_{number}.py", f"{mark}\nasync def server(): ...\n") for number in range(4)]
    assert fixtures_defined_too_often(places) == ["server"]
    assert fixtures_defined_too_often(places[1:]) == []


def test_half_of_the_modules_have_a_test_file_of_their_name() -> None:
    tests = {source.path for source in suite_sources()}
    share = share_with_tests_of_their_name((source.path for source in house_sources()), tests)
    assert share >= NAMED_SHARE_MIN, f"{share:.1%}: name the tests of a module after it"


def test_a_test_file_counts_where_its_module_is_mirrored() -> None:
    modules = ["src/carrel/runs/retries.py", "src/carrel/runs/claims.py", "src/carrel/runs/__init__.py"]
    assert share_with_tests_of_their_name(modules, {"tests/runs/test_retries.py", "tests/test_claims.py"}) == 0.5

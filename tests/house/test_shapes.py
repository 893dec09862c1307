"""One shape per concept: a data class does not repeat the fields of another."""

import ast
from collections.abc import Iterable
from itertools import combinations

from tests.house.source import Source, house_sources

FIELDS_MIN = 5
SHARE_MIN = 0.7
# A new value and its change, what a model is asked for in its own words, and the tolerant classes of the client.
PAIRS_MAX = 22


def data_classes(sources: Iterable[Source]) -> dict[str, set[str]]:
    """Return the fields that each class declares itself, by module and name; small classes are left out."""
    found = {}
    for source in sources:
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                fields = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
                names = {field.id for field in fields if isinstance(field, ast.Name)}
                if len(names) >= FIELDS_MIN:
                    found[f"{source.module}:{node.name}"] = names
    return found


def pairs_alike(sources: Iterable[Source]) -> list[str]:
    """Return the pairs of classes that share most of the larger one's fields, the most alike first."""
    shares = {
        (one, other): len(names & others) / max(len(names), len(others))
        for (one, names), (other, others) in combinations(data_classes(sources).items(), 2)
    }
    alike = sorted((pair for pair, share in shares.items() if share >= SHARE_MIN), key=lambda pair: -shares[pair])
    return [f"{shares[one, other]:.0%} {one} {other}" for one, other in alike]


def test_few_classes_repeat_the_fields_of_another() -> None:
    found = pairs_alike(house_sources())
    assert len(found) <= PAIRS_MAX, "\n".join(["Let one class have the fields, and the other build on it.", *found])


def test_a_copy_is_found_and_a_class_that_builds_on_another_is_not() -> None:
    value = "class Value:\n    a: int\n    b: int\n    c: int\n    d: int\n    e: int\n"
    copy = value.replace("Value", "Copy").replace("    e: int\n", "    e: str\n")
    heir = "class Heir(Value):\n    f: int\n"
    assert pairs_alike([Source("src/a.py", value + copy)]) == ["100% a:Value a:Copy"]
    assert pairs_alike([Source("src/a.py", value + heir)]) == []

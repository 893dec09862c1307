"""The mark by which a test says which behaviours it proves; the list of behaviours itself is in manifest.py."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any] | type)


def requirement(*ids: str) -> Callable[[Test], Test]:
    """Declare that the test proves the behaviours with these ids.

    Write the ids as literal strings: the manifest's check reads them from the source, so that it also works
    when only a part of the suite runs.
    """
    if not ids:
        raise ValueError("name at least one requirement")

    def mark(test: Test) -> Test:
        marked: Test = pytest.mark.requirement(*ids)(test)
        return marked

    return mark

"""The mark that names the behaviours a test proves; manifest.py lists them."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any] | type)


def requirement(*ids: str) -> Callable[[Test], Test]:
    """Declare that the test proves the behaviours with these ids.

    Write the ids as literal strings: test_manifest.py reads them from the source, so that its check also works when
    only a part of the suite runs.
    """
    if not ids:
        raise ValueError("name at least one requirement")

    def mark(test: Test) -> Test:
        marked: Test = pytest.mark.requirement(*ids)(test)
        return marked

    return mark

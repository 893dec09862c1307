"""The fixture of these tests: where a bridge keeps its queue."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file of a queue."""
    return str(tmp_path / "queue.sqlite")

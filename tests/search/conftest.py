"""The fixture of these tests: documents to search."""

import pytest

from tests.harness.engine import Engine
from tests.search.board import Board


@pytest.fixture
def board(engine: Engine) -> Board:
    """A board without embeddings, on SQLite and again on PostgreSQL."""
    return Board(engine)

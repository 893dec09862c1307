"""The fixture of these tests: a timeline of auto runs."""

import pytest

from tests.harness.engine import Engine
from tests.modes.auto.timeline import AutoTimeline


@pytest.fixture
def line(engine: Engine) -> AutoTimeline:
    """Auto runs, on SQLite and again on PostgreSQL."""
    return AutoTimeline(engine)

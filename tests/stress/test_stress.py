"""A short trial of followers under stress; `python -m tests.stress --seconds 600` is the long one."""

import pytest

from tests.postgres import PostgresServer
from tests.requirements.mark import requirement
from tests.stress.trial import Plan, run

pytestmark = pytest.mark.slow


@requirement("S4.x.feed.slow")
async def test_followers_miss_nothing_while_writers_are_killed(postgres: PostgresServer) -> None:
    report = await run(postgres, Plan(seconds=4, writers=2, followers=2))
    assert report.passed, report

"""When searches may start. The moments are seconds of a clock that the tests make up."""

import pytest

from carrel.kernel.limits import SEARCH_BUSY_WRITES_PER_SECOND, SEARCH_REST, SEARCH_REST_SECONDS_MAX
from carrel.search.gate import Pace

TOOK = 0.02
MANY = 100


def test_searches_start_at_once_while_nobody_writes() -> None:
    pace = Pace()
    pace.ended(TOOK, writes=0)
    assert [pace.wait_seconds(10.0) for _ in range(3)] == [0.0, 0.0, 0.0]


def test_beside_writes_each_search_waits_for_the_one_before_it_and_a_rest() -> None:
    pace = Pace()
    pace.ended(TOOK, MANY)
    apart = TOOK * (1 + SEARCH_REST)
    assert [pace.wait_seconds(10.0) for _ in range(3)] == pytest.approx([0.0, apart, 2 * apart])
    assert pace.wait_seconds(10.0 + 10 * apart) == 0.0


def test_fifty_writes_a_second_are_not_many() -> None:
    pace = Pace()
    pace.ended(1.0, writes=SEARCH_BUSY_WRITES_PER_SECOND)
    assert [pace.wait_seconds(10.0) for _ in range(2)] == [0.0, 0.0]
    pace.ended(1.0, writes=SEARCH_BUSY_WRITES_PER_SECOND + 1)
    pace.wait_seconds(10.0)
    assert pace.wait_seconds(10.0) > 0


def test_a_search_that_took_long_makes_the_next_one_wait_no_longer_than_the_limit() -> None:
    pace = Pace()
    pace.ended(4.0, 100_000)
    pace.wait_seconds(10.0)
    assert pace.wait_seconds(14.0) == pytest.approx(SEARCH_REST_SECONDS_MAX)


def test_once_nobody_writes_any_more_searches_start_at_once_again() -> None:
    pace = Pace()
    pace.ended(TOOK, MANY)
    pace.wait_seconds(10.0)
    pace.ended(TOOK, writes=0)
    assert [pace.wait_seconds(20.0) for _ in range(2)] == [0.0, 0.0]

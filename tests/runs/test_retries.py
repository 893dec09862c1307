"""The delay before a retry."""

import random

import pytest

from carrel.runs import retry_delay_ms


@pytest.mark.parametrize(("attempt", "bound_seconds"), [(1, 5), (2, 10), (3, 20), (4, 40), (7, 300), (50, 300)])
def test_the_delay_before_a_retry_doubles_up_to_its_limit_with_full_jitter(attempt: int, bound_seconds: int) -> None:
    assert retry_delay_ms(attempt, 0.0) == 1
    assert retry_delay_ms(attempt, 0.5) == bound_seconds * 500 + 1
    chance = random.Random(3)
    drawn = [retry_delay_ms(attempt, chance.random()) for _ in range(400)]
    assert all(0 < delay <= bound_seconds * 1000 for delay in drawn)
    assert min(drawn) < bound_seconds * 100
    assert max(drawn) > bound_seconds * 900

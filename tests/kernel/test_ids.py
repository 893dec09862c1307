"""Ids, moments, texts, redaction, metrics, retries and access."""

import random

from hypothesis import given
from hypothesis import strategies as st

from carrel.kernel import (
    Ids,
    SystemClock,
    first_id,
    new_secret,
    secret_digest,
)
from tests.harness.engine import FakeClock

moments = st.integers(min_value=0, max_value=4_102_444_800_000)


@given(steps=st.lists(st.integers(min_value=-5, max_value=3), min_size=2, max_size=60), seed=st.integers(0, 99))
def test_ids_sort_in_the_order_of_creation_whatever_the_clock_does(steps: list[int], seed: int) -> None:
    clock = FakeClock()
    ids = Ids(clock, random.Random(seed))
    made = []
    for step in steps:
        clock.advance(step / 1000)
        made.append(ids.new("run"))
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@given(before=moments, after=moments)
def test_ids_of_different_moments_sort_by_their_moment(before: int, after: int) -> None:
    early, late = sorted((before, after))
    if early == late:
        return
    old = Ids(FakeClock(early), random.Random(1)).new("run")
    new = Ids(FakeClock(late), random.Random(2)).new("run")
    assert first_id("run", early) <= old < first_id("run", late) <= new


def test_an_id_is_its_prefix_and_26_unambiguous_characters() -> None:
    prefix, _, body = Ids(SystemClock(), random.Random()).new("ses").partition("_")
    assert (prefix, len(body)) == ("ses", 26)
    assert not set(body) & set("ilouILOU")


def test_a_secret_has_256_bits_and_only_its_digest_is_comparable() -> None:
    secret = new_secret()
    assert len(secret) == 64
    assert "_" not in secret
    assert secret_digest(secret) == secret_digest(secret) != secret
    assert new_secret() != secret

"""Moments: formatted, parsed, and with any offset."""

import pytest
from hypothesis import example, given

from carrel.kernel import (
    iso,
    parse_iso,
)
from tests.kernel.test_ids import moments


@given(moments)
@example(1_096_714_990_850)
def test_a_moment_formatted_and_parsed_is_the_same_millisecond(ms: int) -> None:
    text = iso(ms)
    assert text is not None
    assert len(text) == 24
    assert text.endswith("Z")
    assert parse_iso(text) == ms


def test_moments_are_parsed_with_any_offset_but_not_without_one() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(None) is None
    assert parse_iso("2026-01-31T13:00:00+01:00") == parse_iso("2026-01-31T12:00:00.000Z")
    for wrong in ("2026-01-31T12:00:00", "yesterday", ""):
        with pytest.raises(ValueError):
            parse_iso(wrong)

"""Ages and the like in words."""

from datetime import UTC, datetime

from carrel.kernel import SystemClock
from carrel.main.cli.humanize import age


def test_ages_are_short() -> None:
    now = SystemClock().now_ms()
    assert [age(now - seconds * 1000) for seconds in (5, 300, 7200, 200_000)] == ["5s", "5m", "2h", "2d"]
    assert age(datetime.fromtimestamp(now / 1000, UTC)) == "0s"
    assert age(None) == ""

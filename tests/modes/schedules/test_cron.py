"""Cron expressions: how they are parsed, and the times they match, also when clocks change."""

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.kernel import Code, Refusal, parse_iso
from carrel.modes.schedules.cron import read_cron, read_zone

BERLIN = "Europe/Berlin"
MINUTE = timedelta(minutes=1)
# Clock changes by an hour and by half an hour, at two, at midnight, and none at all.
CHANGES = [
    (BERLIN, "2026-03-29T01:00:00Z"),
    (BERLIN, "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("America/Santiago", "2026-09-06T04:00:00Z"),
    ("America/Santiago", "2026-04-05T03:00:00Z"),
    ("America/St_Johns", "2010-03-14T03:31:00Z"),
    ("America/St_Johns", "2010-11-07T02:31:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Asia/Kolkata", "2026-03-29T01:00:00Z"),
    ("UTC", "2024-02-29T00:00:00Z"),
]


def matches(cron: str, zone: str, after: str, count: int) -> list[str]:
    """Return the next matches in local time."""
    found, at = [], parse_iso(after)
    for _ in range(count):
        following = read_cron(cron).next_after(at, read_zone(zone))
        assert following is not None
        at = following
        found.append(datetime.fromtimestamp(at / 1000, read_zone(zone)).strftime("%a %Y-%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("* * * * *", "2026-05-01T10:00:00Z", ["Fri 2026-05-01 10:01 +0000", "Fri 2026-05-01 10:02 +0000"]),
        ("* * * * *", "2026-05-01T10:00:59.999Z", ["Fri 2026-05-01 10:01 +0000"]),
        ("*/20 9-10 * * *", "2026-05-01T10:20:00Z", ["Fri 2026-05-01 10:40 +0000", "Sat 2026-05-02 09:00 +0000"]),
        ("0 0 1 jan *", "2026-01-01T00:00:00Z", ["Fri 2027-01-01 00:00 +0000"]),
        ("0 9 * * MON-fri", "2026-05-01T09:00:00Z", ["Mon 2026-05-04 09:00 +0000", "Tue 2026-05-05 09:00 +0000"]),
        ("0 9 * * 7", "2026-05-01T09:00:00Z", ["Sun 2026-05-03 09:00 +0000"]),
        ("5,1 0 31 * *", "2026-01-31T00:02:00Z", ["Sat 2026-01-31 00:05 +0000", "Tue 2026-03-31 00:01 +0000"]),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", ["Fri 2104-02-29 00:00 +0000"]),
        # Both kinds of days restricted: either is enough. Only one restricted: both must match.
        ("0 0 13 * 5", "2026-02-01T00:00:00Z", ["Fri 2026-02-06 00:00 +0000", "Fri 2026-02-13 00:00 +0000"]),
        ("0 0 */31 * 5", "2026-02-01T00:00:00Z", ["Fri 2026-05-01 00:00 +0000"]),
    ],
)
def test_an_expression_matches_these_times(cron: str, after: str, expected: list[str]) -> None:
    assert matches(cron, "UTC", after, len(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "* * * *", "* * * * * *", "@dayly", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *",
        "* * * * 8", "a * * * *", "5-1 * * * *", "*/0 * * * *", "5/2 * * * *", "1,,2 * * * *", "1- * * * *",
        "-1 * * * *", "* * * mon *", "* * * * jan", "*/ * * * *", "*/x * * * *", "\u0661 * * * *", "1.5 * * * *",
        "* * * * fri-mon", "1," * 100 + "1 * * * *",
    ],
)  # fmt: skip
def test_an_invalid_expression_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_cron(text)
    assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "cron")


def test_the_usual_expressions_have_names() -> None:
    for name, cron in (("@hourly", "0 * * * *"), ("@Daily", "0 0 * * *"), (" @weekly ", "0 0 * * 0")):
        assert read_cron(name) == read_cron(cron)
    with pytest.raises(Refusal) as refused:
        read_cron("@dayly")
    assert "did you mean '@daily'?" in refused.value.message


def test_a_refusal_says_which_part_is_wrong() -> None:
    with pytest.raises(Refusal, match=r"'25' is not a valid hour: .* 0 to 23"):
        read_cron("0 25 * * *")


def test_a_day_that_never_occurs_has_no_match() -> None:
    assert read_cron("0 0 30 2 *").next_after(parse_iso("2026-01-01T00:00:00Z"), UTC) is None


@pytest.mark.parametrize(
    "name",
    ["", "Nowhere", "europe", "America", "../../etc/passwd", "/etc/passwd", "a\0b", "é", "x" * 5_000, "tzdata.zi"],
)
def test_an_unknown_time_zone_is_refused_with_its_field(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_zone(name)
    assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "timezone")


def test_skipped_times_match_once_after_the_clocks_go_forward() -> None:
    saturday = "2026-03-28T12:00:00Z"
    assert matches("30 2 * * *", BERLIN, saturday, 2) == ["Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:30 +0200"]
    assert matches("*/10 2 * * *", BERLIN, saturday, 2) == ["Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:00 +0200"]
    assert matches("0 2,3 * * *", BERLIN, saturday, 2) == ["Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:00 +0200"]


def test_a_time_that_occurs_twice_matches_the_first_time() -> None:
    saturday = "2026-10-24T12:00:00Z"
    assert matches("30 2 * * *", BERLIN, saturday, 2) == ["Sun 2026-10-25 02:30 +0200", "Mon 2026-10-26 02:30 +0100"]


def test_clock_changes_within_an_hour_or_across_midnight_are_handled() -> None:
    # 00:01 became 01:01; and in autumn 23:01 of the day before.
    spring = matches("0 1 * * *", "America/St_Johns", "2010-03-13T20:00:00Z", 1)
    autumn = matches("0 12 7 11 *", "America/St_Johns", "2010-11-06T20:00:00Z", 1)
    assert spring + autumn == ["Sun 2010-03-14 01:01 -0230", "Sun 2010-11-07 12:00 -0330"]


def test_an_hourly_expression_follows_elapsed_time() -> None:
    assert matches("30 * * * *", BERLIN, "2026-03-29T00:00:00Z", 2) == [
        "Sun 2026-03-29 01:30 +0100",
        "Sun 2026-03-29 03:30 +0200",
    ]
    assert matches("30 * * * *", BERLIN, "2026-10-25T00:00:00Z", 3) == [
        "Sun 2026-10-25 02:30 +0200",
        "Sun 2026-10-25 02:30 +0100",
        "Sun 2026-10-25 03:30 +0100",
    ]


@st.composite
def fields(draw: st.DrawFn, least: int, most: int) -> tuple[str, frozenset[int]]:
    """A field of an expression, and the values it matches."""
    shape = draw(st.sampled_from(["*", "*/n", "a-b/n", "list"]))
    step = draw(st.integers(1, most))
    if shape == "*":
        return "*", frozenset(range(least, most + 1))
    if shape == "*/n":
        return f"*/{step}", frozenset(range(least, most + 1, step))
    if shape == "list":
        chosen = draw(st.lists(st.integers(least, most), min_size=1, max_size=4))
        return ",".join(map(str, chosen)), frozenset(chosen)
    first = draw(st.integers(least, most))
    last = draw(st.integers(first, most))
    return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))


def enumerated(wanted: list[tuple[str, frozenset[int]]], zone: tzinfo, begin: datetime, hours: int) -> set[datetime]:
    """Return every match in a stretch of time, found by checking each minute of local time."""
    (_, minutes), (_, hours_matched), (day_text, days), (_, months), (weekday_text, weekdays) = wanted
    both_days = day_text[0] != "*" and weekday_text[0] != "*"

    def is_match(wall: datetime) -> bool:
        fits = [wall.day in days, wall.isoweekday() in weekdays or (wall.isoweekday() == 7 and 0 in weekdays)]
        day = any(fits) if both_days else all(fits)
        return day and wall.month in months and wall.hour in hours_matched and wall.minute in minutes

    moments = [begin + n * MINUTE for n in range(-2 * 60, hours * 60)]
    walls = [moment.astimezone(zone).replace(tzinfo=None) for moment in moments]
    if len(hours_matched) == 24:
        return {moment for moment, wall in zip(moments, walls, strict=True) if moment >= begin and is_match(wall)}
    first = {wall: moment for moment, wall in reversed(list(zip(moments, walls, strict=True)))}
    found = {moment for wall, moment in first.items() if is_match(wall)}
    for (_, before), (after, behind) in pairwise(zip(moments, walls, strict=True)):
        skipped = [before + n * MINUTE for n in range(1, (behind - before) // MINUTE)]
        if any(is_match(wall) for wall in skipped):
            found.add(after)
    return {moment for moment in found if moment >= begin}


@settings(max_examples=300, derandomize=True, database=None)
@given(
    wanted=st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 7)),
    change=st.sampled_from(CHANGES),
    narrow=st.booleans(),
)
def test_matches_equal_those_found_by_checking_every_minute(
    wanted: tuple[tuple[str, frozenset[int]], ...], change: tuple[str, str], narrow: bool
) -> None:
    name, around = change
    parts = list(wanted)
    if narrow:
        # Otherwise hardly any day matches.
        parts[2:] = [("*", frozenset(range(1, 32))), ("*", frozenset(range(1, 13))), ("*", frozenset(range(8)))]
    zone = UTC if name == "UTC" else ZoneInfo(name)
    begin = datetime.fromisoformat(around) - timedelta(hours=20)
    cron = read_cron(" ".join(text for text, _ in parts))
    found, at = set(), int(begin.timestamp()) * 1000 - 1
    while (following := cron.next_after(at, zone)) is not None:
        at = following
        moment = datetime.fromtimestamp(at / 1000, UTC)
        if moment >= begin + timedelta(hours=40):
            break
        found.add(moment)
    assert found == enumerated(parts, zone, begin, 40)

"""Cron expressions: five fields and a time zone, and the times they match. Pure.

When clocks go forward, skipped times match once, right afterwards, however many were skipped; a time that occurs twice
matches the first time. An hourly expression follows elapsed time instead: a skipped hour is not made up for and a
repeated one is not left out.

Written here because cronsim 2.8 and croniter 7.0 leave out or repeat matches where clocks change at midnight or by half
an hour; the tests compare every minute around such changes.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from msgspec import Struct

from carrel.kernel import MS_PER_MINUTE, Refusal, invalid
from carrel.kernel.limits import CRON_CHARS_MAX, CRON_YEARS_MAX, TIMEZONE_CHARS_MAX

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_HORIZON = timedelta(days=366 * CRON_YEARS_MAX)


class _Field(Struct, frozen=True):
    """One of the five: its name in refusals, its range, and names for its values from the lowest on."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    # Sunday is both 0 and 7.
    _Field("day of week", 0, 7, _WEEKDAYS),
)


# The names that crontabs use for common expressions.
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Cron(Struct, frozen=True, kw_only=True):
    """A parsed expression; see `read_cron`."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # If day of month and day of week are both restricted, either is enough.
    either_day: bool

    def next_after(self, moment_ms: int, zone: tzinfo) -> int | None:
        """Return the first match after a moment; None when there is none within CRON_YEARS_MAX years."""
        at = _EPOCH + timedelta(minutes=moment_ms // MS_PER_MINUTE + 1)
        end = at + _HORIZON
        while at < end:
            here = at.astimezone(zone)
            if self._matches_at(here, (at - _MINUTE).astimezone(zone)):
                return (at - _EPOCH) // _MINUTE * MS_PER_MINUTE
            at = self._skip_ahead(at, here, zone)
        return None

    def _matches_at(self, here: datetime, before: datetime) -> bool:
        every_hour = len(self.hours) == 24
        if self._matches(here):
            return every_hour or not here.fold
        if every_hour:
            return False
        skipped, now = before.replace(tzinfo=None) + _MINUTE, here.replace(tzinfo=None)
        while skipped < now:
            if self._matches(skipped):
                return True
            skipped += _MINUTE
        return False

    def _matches(self, local: datetime) -> bool:
        return self._matches_day(local) and local.hour in self.hours and local.minute in self.minutes

    def _matches_day(self, local: datetime) -> bool:
        if local.month not in self.months:
            return False
        day, weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday

    def _skip_ahead(self, at: datetime, here: datetime, zone: tzinfo) -> datetime:
        """Return a later moment with no match in between: at most the start of the next matching day or hour."""
        if not self._matches_day(here):
            midnight = here.replace(hour=0, minute=0, fold=0)
            days = 1 if here.month in self.months else 32 - here.day
            following = midnight + timedelta(days=days)
            if days > 1:
                following = following.replace(day=1)
            return max(at + _MINUTE, following.replace(tzinfo=zone).astimezone(UTC))
        if here.hour not in self.hours:
            later = at + (60 - here.minute) * _MINUTE
            if later.astimezone(zone).utcoffset() == here.utcoffset():
                return later
        # By the minute within a matching hour, and when clocks change.
        return at + _MINUTE


@lru_cache(maxsize=1_024)
def read_cron(text: str) -> Cron:
    """Parse an expression; the Refusal says which part is wrong."""
    named = text.strip().lower()
    if named.startswith("@") and named not in _NAMED:
        raise Refusal.of_value("cron", named, _NAMED)
    parts = _NAMED.get(named, text).split() if len(text) <= CRON_CHARS_MAX else []
    if len(parts) != len(_FIELDS):
        raise invalid("cron", "A cron expression has five fields: minute, hour, day of month, month, day of week.")
    minutes, hours, days, months, weekdays = (
        frozenset(value for each in part.split(",") for value in _span(field, each))
        for field, part in zip(_FIELDS, parts, strict=True)
    )
    return Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=not parts[2].startswith("*") and not parts[4].startswith("*"),
    )


def read_zone(name: str) -> tzinfo:
    """Return the time zone of that name; Refusal when it is unknown."""
    if name == "UTC":
        return UTC
    try:
        if not 0 < len(name) <= TIMEZONE_CHARS_MAX:
            raise ValueError(name)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        why = f"'{name[:40]}' is not a known time zone; use UTC or one like Europe/Berlin."
        raise invalid("timezone", why) from error


def _span(field: _Field, part: str) -> range:
    span, slash, step = part.partition("/")
    low, dash, high = span.partition("-")
    if span == "*":
        first, last = field.least, field.most
    else:
        first = _number(field, low)
        last = _number(field, high) if dash else first
    is_step = not slash or (step.isascii() and step.isdecimal() and int(step) > 0 and (span == "*" or dash))
    if last < first or not is_step:
        raise _wrong(field, part)
    return range(first, last + 1, int(step) if slash else 1)


def _number(field: _Field, text: str) -> int:
    if text.lower() in field.names:
        return field.least + field.names.index(text.lower())
    if not (text.isascii() and text.isdecimal() and field.least <= int(text) <= field.most):
        raise _wrong(field, text)
    return int(text)


def _wrong(field: _Field, part: str) -> Refusal:
    return invalid(
        "cron",
        f"'{part[:40]}' is not a valid {field.name}: use *, a number from {field.least} to {field.most}, a range a-b, "
        "a list separated by commas, or a step after * or a range (*/5).",
    )

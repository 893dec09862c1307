"""Cron expressions: five fields and a time zone, and the moments they name. Pure; what happens then is not known here.

Where clocks change, a time of day that does not exist comes as soon as the clocks have gone forward, once, however many
of them were skipped; one that comes twice counts the first time. An expression for every hour follows the time that
passes instead: it neither makes up for an hour that was skipped nor leaves out one that is repeated.
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
    """One of the five: its name in refusals, its least and greatest value, and words for values from the least on."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    # Sunday is 0 and 7.
    _Field("day of week", 0, 7, _WEEKDAYS),
)


class Cron(Struct, frozen=True, kw_only=True):
    """What an expression asks for; made by `read_cron`."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # Day of month and day of week are both narrowed: then one of them is enough.
    either_day: bool

    def next_after(self, moment_ms: int, zone: tzinfo) -> int | None:
        """The first moment behind this one; None when there is none within the lifetime of a calendar."""
        at = _EPOCH + timedelta(minutes=moment_ms // MS_PER_MINUTE + 1)
        end = at + _HORIZON
        while at < end:
            here = at.astimezone(zone)
            if self._comes_at(here, (at - _MINUTE).astimezone(zone)):
                return (at - _EPOCH) // _MINUTE * MS_PER_MINUTE
            at = self._ahead(at, here, zone)
        return None

    def _comes_at(self, here: datetime, before: datetime) -> bool:
        every_hour = len(self.hours) == 24
        if self._names(here):
            return every_hour or not here.fold
        if every_hour:
            return False
        skipped, now = before.replace(tzinfo=None) + _MINUTE, here.replace(tzinfo=None)
        while skipped < now:
            if self._names(skipped):
                return True
            skipped += _MINUTE
        return False

    def _names(self, local: datetime) -> bool:
        return self._names_day(local) and local.hour in self.hours and local.minute in self.minutes

    def _names_day(self, local: datetime) -> bool:
        if local.month not in self.months:
            return False
        day, weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday

    def _ahead(self, at: datetime, here: datetime, zone: tzinfo) -> datetime:
        """A later moment with nothing in between: never past the beginning of a day or an hour that counts."""
        if not self._names_day(here):
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
        # Within an hour that counts, and where clocks change, by the minute.
        return at + _MINUTE


@lru_cache(maxsize=1_024)
def read_cron(text: str) -> Cron:
    """The expression that a text spells; Refusal that says which part is wrong."""
    parts = text.split() if len(text) <= CRON_CHARS_MAX else []
    if len(parts) != len(_FIELDS):
        raise invalid("cron", "A cron expression has five fields: minute, hour, day of month, month, day of week.")
    minutes, hours, days, months, weekdays = (_values(*pair) for pair in zip(_FIELDS, parts, strict=True))
    return Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=not parts[2].startswith("*") and not parts[4].startswith("*"),
    )


def read_zone(name: str) -> tzinfo:
    """The time zone of that name; Refusal when this machine knows none."""
    if name == "UTC":
        return UTC
    try:
        if not 0 < len(name) <= TIMEZONE_CHARS_MAX:
            raise ValueError(name)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        told = f"'{name[:40]}' is no time zone that this machine knows; one reads like Europe/Berlin, or UTC."
        raise invalid("timezone", told) from error


def _values(field: _Field, text: str) -> frozenset[int]:
    return frozenset(value for part in text.split(",") for value in _span(field, part))


def _span(field: _Field, part: str) -> range:
    span, slash, step = part.partition("/")
    low, dash, high = span.partition("-")
    if span == "*":
        first, last = field.least, field.most
    else:
        first = _number(field, low)
        last = _number(field, high) if dash else first
    is_stepped = not slash or (step.isascii() and step.isdecimal() and int(step) > 0 and (span == "*" or dash))
    if last < first or not is_stepped:
        raise _wrong(field, part)
    return range(first, last + 1, int(step) if slash else 1)


def _number(field: _Field, text: str) -> int:
    if text.lower() in field.words:
        return field.least + field.words.index(text.lower())
    if not (text.isascii() and text.isdecimal() and field.least <= int(text) <= field.most):
        raise _wrong(field, text)
    return int(text)


def _wrong(field: _Field, part: str) -> Refusal:
    return invalid(
        "cron",
        f"'{part[:40]}' is no {field.name} of a cron expression: write *, a number from {field.least} to {field.most}, "
        "a range a-b, a list of them with commas, or a step behind * or a range (*/5).",
    )

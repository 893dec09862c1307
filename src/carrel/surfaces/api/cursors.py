"""How lists and moments are asked for: cursors, opaque to whoever holds them, limits, and times; all read strictly."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import TypeVar

import msgspec

from carrel.kernel import invalid, parse_iso
from carrel.kernel.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX

T = TypeVar("T")


def write_cursor(*place: int | str) -> str:
    """A place in a list as opaque text."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_cursor(text: str | None, kind: type[T]) -> T | None:
    """The place that a cursor names; None where there is none, Refusal for what is no cursor of this list."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise invalid("cursor", "This is no cursor of this list; take nextCursor of the page before.") from error


def clamp(asked: int | None, default: int = LIST_ROWS_DEFAULT, most: int = LIST_ROWS_MAX, least: int = 1) -> int:
    """How many are given for how many were asked."""
    return default if asked is None else max(least, min(most, asked))


def cut(found: list[T], limit: int, place: Callable[[T], tuple[int | str, ...]]) -> tuple[list[T], str | None]:
    """The page of a list that was read one row further than the page goes, and the cursor of what follows it."""
    page = found[:limit]
    return page, write_cursor(*place(page[-1])) if len(found) > limit else None


def read_moment(name: str, text: str) -> int:
    """Milliseconds of a moment that a field or parameter of that name holds in ISO 8601."""
    try:
        return parse_iso(text)
    except (ValueError, OverflowError) as error:
        raise invalid(name, "A time reads like 2026-01-31T12:00:00Z.") from error

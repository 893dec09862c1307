"""Cursors and limits of lists: opaque to whoever holds them, strict when they come back."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TypeVar

import msgspec

from carrel.kernel import invalid
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

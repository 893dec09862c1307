"""Parameters of lists: opaque cursors and limits."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import TypeVar

import msgspec

from carrel.kernel import invalid
from carrel.kernel.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX, PAGE_BYTES_MAX, PAGE_ROWS_AT_A_TIME

T = TypeVar("T")
Position = TypeVar("Position", bound=tuple[float | str, ...])

# Only the size of it counts.
_encode = msgspec.json.Encoder(enc_hook=str).encode


def read_cursor(text: str | None, kind: type[Position]) -> Position | None:
    """Return the position that a cursor names, None without a cursor; Refusal for a cursor of another list."""
    if text is None:
        return None
    try:
        position = msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=kind)
        if not all(map(_is_storable, position)):
            raise ValueError("no list has such a position")
    except (ValueError, msgspec.MsgspecError) as error:
        raise invalid("cursor", "This is not a cursor of this list; use nextCursor of the previous page.") from error
    return position


def _is_storable(value: object) -> bool:
    """Return whether a database can compare with a value: with a larger number or with a NUL it cannot."""
    if isinstance(value, int):
        return abs(value) < 1 << 63
    return isinstance(value, float) or (isinstance(value, str) and "\0" not in value)


def clamp(requested: int | None, default: int = LIST_ROWS_DEFAULT, most: int = LIST_ROWS_MAX, least: int = 1) -> int:
    """Return the requested number within its bounds, or the default."""
    return default if requested is None else max(least, min(most, requested))


def cut(found: list[T], limit: int, position: Callable[[T], tuple[float | str, ...]]) -> tuple[list[T], str | None]:
    """Return one page of a list that was read one row past it, and the cursor of the next page.

    It has fewer rows than asked for when these are large.
    """
    page, size = list[T](), 0
    for row in found[:limit]:
        size += len(_encode(row))
        if page and size > PAGE_BYTES_MAX:
            break
        page.append(row)
    if len(found) == len(page):
        return page, None
    return page, urlsafe_b64encode(msgspec.json.encode(position(page[-1]))).decode().rstrip("=")


def read_page(
    read: Callable[[Position | None, int], list[T]],
    start: Position | None,
    limit: int,
    position: Callable[[T], Position],
) -> tuple[list[T], str | None]:
    """Return one page of a list whose rows may be large, and the cursor of the next; a few rows are read at a time."""
    found: list[T] = []
    while True:
        wanted = min(PAGE_ROWS_AT_A_TIME, limit + 1 - len(found))
        more = read(start, wanted)
        found += more
        page, following = cut(found, limit, position)
        if len(page) < len(found) or len(more) < wanted:
            return page, following
        start = position(found[-1])

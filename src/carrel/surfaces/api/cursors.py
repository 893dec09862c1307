"""Parameters of lists: opaque cursors and limits; and the pages that they ask for."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from carrel.kernel import Input, invalid
from carrel.kernel.fields import Cursor
from carrel.kernel.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX, PAGE_BYTES_MAX, PAGE_ROWS_AT_A_TIME
from carrel.surfaces.api.endpoint import Page

T = TypeVar("T")
Position = TypeVar("Position", bound=tuple[float | str, ...])

# Only the size of it counts.
_encode = msgspec.json.Encoder(enc_hook=str).encode


class PageQuery(Input, frozen=True, kw_only=True):
    """Which page of a list."""

    limit: int | None = None
    cursor: Cursor | None = None


class _Paged(Protocol):
    """A query with the fields of a PageQuery."""

    @property
    def limit(self) -> int | None: ...
    @property
    def cursor(self) -> str | None: ...


class _WithId(Protocol):
    @property
    def id(self) -> str: ...


Row = TypeVar("Row", bound=_WithId)


def _read_cursor(text: str | None, kind: type[Position]) -> Position | None:
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


def paged(
    query: _Paged,
    kind: type[Position],
    read: Callable[[Position | None, int], list[T]],
    position: Callable[[T], Position],
    default: int = LIST_ROWS_DEFAULT,
    most: int = LIST_ROWS_MAX,
) -> Page[T]:
    """Return the page that a query asks for; `read` returns rows after a position, at most as many as it is told.

    A few rows are read at a time, as they may be large; then the page has fewer than asked for.
    """
    limit, start = clamp(query.limit, default, most), _read_cursor(query.cursor, kind)
    found: list[T] = []
    while True:
        wanted = min(PAGE_ROWS_AT_A_TIME, limit + 1 - len(found))
        more = read(start, wanted)
        found += more
        page = _cut(found, limit, position)
        if len(page.items) < len(found) or len(more) < wanted:
            return page
        start = position(found[-1])


def paged_by_id(
    query: _Paged,
    read: Callable[[str | None, int], list[Row]],
    default: int = LIST_ROWS_DEFAULT,
    most: int = LIST_ROWS_MAX,
) -> Page[Row]:
    """Return the page that a query asks for, of a list in the order of its ids."""
    return paged(
        query, tuple[str], lambda at, rows: read(at[0] if at else None, rows), lambda row: (row.id,), default, most
    )


def _cut(found: list[T], limit: int, position: Callable[[T], tuple[float | str, ...]]) -> Page[T]:
    """Return one page of a list that was read one row past it."""
    page, size = list[T](), 0
    for row in found[:limit]:
        size += len(_encode(row))
        if page and size > PAGE_BYTES_MAX:
            break
        page.append(row)
    if len(found) == len(page):
        return Page(page)
    return Page(page, urlsafe_b64encode(msgspec.json.encode(position(page[-1]))).decode().rstrip("="))

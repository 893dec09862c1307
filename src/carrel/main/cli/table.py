"""Tables as wide as the terminal: ids are cut first, then the widest columns; widths are counted in cells."""

import re
from collections.abc import Iterable, Sequence

_GAP = 2
_WIDTH_MIN = 4
_ELLIPSIS = "…"
# The first characters of an id are its time, so ids of different milliseconds differ in them.
_ID = re.compile(r"([a-z]+_)[0-9a-z]{26}")
_ID_CHARS_MIN = 10
_KEY = re.compile(r"agent:[^:]+:.+")
_JOINER = "\u200d"
_AS_EMOJI = "\ufe0f"

Rows = list[list[str]]


def fitted(headers: Iterable[str], rows: Sequence[Sequence[str]], columns: int, *, whole_ids: bool = False) -> Rows:
    """Return the headers and the rows as cells of equal width per column, in lines of at most `columns` cells.

    Ids are cut to a beginning that is unique among those shown, unless `whole_ids`; of session keys the end is kept.
    Below a few cells per column, lines get longer instead.
    """
    table: Rows = [list(headers), *map(list, rows)]
    room = columns - _GAP * (len(table[0]) - 1)
    if sum(_widths(table)) > room and not whole_ids:
        table = _transposed([_with_cut_ids(column) for column in _transposed(table)])
    widths = _widths(table)
    kept = {at for at, column in enumerate(_transposed(table)) if any(map(_is_id, column))}
    while sum(widths) > room:
        widest = max((at for at in range(len(widths)) if at not in kept), key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= _WIDTH_MIN:
            break
        widths[widest] -= 1
    return [[_padded(cell, width) for cell, width in zip(row, widths, strict=True)] for row in table]


def width_of(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    return len(text) if text.isascii() else sum(_widths_of_signs(text))


def cut(text: str, width: int) -> str:
    """Return a text cut to at most `width` cells: session keys keep their end, other texts their start."""
    if width_of(text) <= width:
        return text
    if _KEY.fullmatch(text):
        # Keep the agent as well if it fits into half of the width.
        agent = text[: text.index(":", len("agent:")) + 1]
        head = agent if len(agent) <= width // 2 else ""
        return head + _ELLIPSIS + _start(text[::-1], width - width_of(head) - 1)[::-1]
    return _start(text, width - 1) + _ELLIPSIS


def _start(text: str, width: int) -> str:
    taken, end = 0, 0
    for end, cells in enumerate(_widths_of_signs(text)):
        taken += cells
        if taken > width:
            # A trailing joiner would join the ellipsis to the sign before it.
            return text[:end].rstrip(_JOINER)
    return text


def _widths_of_signs(text: str) -> list[int]:
    """Return the width of each sign in cells: 0 for marks and joined signs, 2 for wide ones."""
    # Most texts are plain; only others pay for the import.
    import unicodedata

    widths: list[int] = []
    before = ""
    for sign in text:
        if sign == _AS_EMOJI and widths:
            widths[-1] = 2 if widths[-1] else 0
        is_mark = unicodedata.category(sign) in ("Mn", "Me", "Cf") or "\u1160" <= sign <= "\u11ff"
        wide = 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        widths.append(0 if is_mark or before == _JOINER else wide)
        before = sign
    return widths


def _is_id(cell: str) -> bool:
    name, _, rest = cell.partition("_")
    return bool(rest) and name.isalpha() and len(rest) >= _ID_CHARS_MIN and rest.isalnum()


def _with_cut_ids(column: list[str]) -> list[str]:
    """Return a column with its ids cut to as many characters as tell them apart."""
    ids = {cell: found[1] for cell in column if (found := _ID.fullmatch(cell))}
    chars = _ID_CHARS_MIN
    while len({cell[: len(prefix) + chars] for cell, prefix in ids.items()}) < len(ids):
        chars += 1
    return [cell[: len(ids[cell]) + chars] if cell in ids else cell for cell in column]


def _padded(cell: str, width: int) -> str:
    fitting = cut(cell, width)
    return fitting + " " * (width - width_of(fitting))


def _widths(table: Rows) -> list[int]:
    return [max(map(width_of, column)) for column in _transposed(table)]


def _transposed(table: Rows) -> Rows:
    return [list(column) for column in zip(*table, strict=True)]

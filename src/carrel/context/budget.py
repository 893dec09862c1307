"""The block within its limit: every section has a reserved share, what it leaves flows on, lines are dropped whole.

Lengths are counted in UTF-16 units, of which a text never has fewer than code points. Pure.
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from carrel.context.model import KEPT_FACTS, NOTES, PLACE, RECALLED_LOGS, SECTIONS, Line, Mode
from carrel.journal import ContextMarks
from carrel.kernel import one_line

_CUT = "…"
TITLE = ContextMarks.HEADING
_INTENT = "Current user intent: "
_INTENT_CHARS_MAX = 180
# The intent takes no more than this part of a small block.
_INTENT_PART = 4
# A line that is cut to less tells nothing. A block of 200 characters has room for it in every section.
_CUT_LINE_CHARS_MIN = 20
# Who is served first, where not all find room; the others follow in the order of the block.
_FIRST = (PLACE, NOTES, KEPT_FACTS)
_SERVED = (*_FIRST, *(name for name in SECTIONS if name not in (*_FIRST, RECALLED_LOGS)), RECALLED_LOGS)


class Laid(Struct, frozen=True):
    """A block, its lines in the order of the block, and how many lines of each section found no room."""

    block: str
    lines: tuple[Line, ...]
    omitted: dict[str, int]


def width(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) + sum(sign > "\uffff" for sign in text)


def cut(text: str, width_max: int) -> str:
    """Return a text cut to a length in UTF-16 units, ending in `…` if it was cut."""
    if width(text) <= width_max:
        return text
    left, kept = width_max - 1, 0
    for sign in text:
        left -= 2 if sign > "\uffff" else 1
        if left < 0:
            break
        kept += 1
    return text[:kept] + _CUT if width_max > 0 else ""


def as_line(text: str, width_max: int) -> str:
    """Return a text as one line of a block: no line breaks, nothing that could end the block, cut to a length."""
    return cut(one_line(text), width_max)


def injected(block: str) -> str:
    """Return a block as a run is shown it: between its markers, with a sentence on what it is."""
    return f"{ContextMarks.BEGIN}\n{ContextMarks.PREAMBLE}\n{block}\n{ContextMarks.END}"


# What injection adds around a block.
AROUND_CHARS = len(injected(""))


def lay_out(lines: Iterable[Line], *, question: str, mode: Mode, max_chars: int) -> Laid:
    """Return the block of those lines, each section's best first, and what had to be left out."""
    sections: dict[str, list[Line]] = {name: [] for name in SECTIONS}
    for line in lines:
        sections[line.section].append(line)
    head = _head(question, mode, max_chars)
    room = max_chars - width("\n".join(head))
    taken = _taken(sections, room)
    if not any(taken.values()):
        taken |= _cut_first(sections, room)
    printed, shown = list(head), list[Line]()
    for name, place in SECTIONS.items():
        own = sections[name][: taken[name]]
        own = own[::-1] if place.newest_last else own
        printed += [name, *(line.line for line in own)] if own else []
        shown += own
    omitted = {name: len(own) - taken[name] for name, own in sections.items() if len(own) > taken[name]}
    return Laid("\n".join(printed), tuple(shown), omitted)


def _head(question: str, mode: Mode, max_chars: int) -> list[str]:
    if max_chars < width(TITLE):
        return [TITLE[:max_chars]]
    head, left = [TITLE], max_chars - width(TITLE)
    intent = as_line(question, min(_INTENT_CHARS_MAX, max_chars // _INTENT_PART))
    for line in ([_INTENT + intent] if intent else []) + ([f"Mode: {mode}"] if mode != "auto" else []):
        if width(line) < left:
            head.append(line)
            left -= width(line) + 1
    return head


def _taken(sections: dict[str, list[Line]], room: int) -> dict[str, int]:
    """How many lines of each section are shown, its best first, together within the room."""
    taken = dict.fromkeys(sections, 0)
    parts = sum(SECTIONS[name].parts for name, lines in sections.items() if lines)
    shares = {name: room * SECTIONS[name].parts // parts for name, lines in sections.items() if lines}
    left = room
    # First everyone takes of its own share, then of what is left of all.
    for own_share in (True, False):
        for name in (name for name in _SERVED if name in shares):
            limit = shares[name] if own_share else left
            used, more = _fitting(name, sections[name][taken[name] :], limit, begun=taken[name] > 0)
            taken[name] += more
            left -= used
    return taken


def _cut_first(sections: dict[str, list[Line]], room: int) -> dict[str, int]:
    """Cut the line that is served first to the room there is, if that leaves any of it, so that the block has one."""
    name = next((name for name in _SERVED if sections[name]), None)
    if name is None or room - width(name) - 2 < _CUT_LINE_CHARS_MIN:
        return {}
    first = sections[name][0]
    sections[name][0] = structs.replace(first, line=cut(first.line, room - width(name) - 2))
    return {name: 1}


def _fitting(name: str, lines: list[Line], limit: int, *, begun: bool) -> tuple[int, int]:
    """How much room the first lines take that fit into the limit, and how many they are; a section has a heading."""
    used, count, cost = 0, 0, 0 if begun else 1 + width(name)
    for line in lines:
        cost += 1 + width(line.line)
        if used + cost > limit:
            break
        used, count, cost = used + cost, count + 1, 0
    return used, count

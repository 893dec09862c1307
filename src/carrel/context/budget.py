"""Fits a block into its limit: sections share it by worth, unused space is passed on, and only whole lines are shown.

Lengths are in UTF-16 units, of which a text has at least as many as code points. Pure.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from carrel.context import model
from carrel.context.model import Depth, Form, Layer, Line
from carrel.journal import ContextMarks
from carrel.kernel import one_line

CUT = "…"
TITLES: dict[Form, str] = {"clawboard": ContextMarks.HEADING, "run": ContextMarks.RUN_HEADING}
_INTENT = "Current user intent: "
_INTENT_CHARS_MAX = 180
# The intent takes at most this fraction (one in …) of a small block.
_INTENT_PART = 4
# A shorter line says nothing. A block of 200 characters has room for one line of this length in any section.
_CUT_LINE_CHARS_MIN = 20
# The line of a topic or a task, its name, and its digest.
ITEM_CHARS, ITEM_NAME_CHARS, TOPIC_DIGEST_CHARS, TASK_DIGEST_CHARS = 400, 120, 140, 120
# The line of a route, each name in it, and the message that it quotes.
ROUTE_CHARS, ROUTE_NAME_CHARS, ROUTE_ANCHOR_CHARS = 320, 80, 120
# The line of a message in the timeline, and the name of its author in recalled lines.
MESSAGE_CHARS, SPEAKER_CHARS = 160, 60
# A recalled line takes at most this fraction (one in …) of a block, so that several fit; shorter ones say too little.
RECALLED_PART, RECALLED_CHARS_MIN = 6, 140
# How much of an excerpt precedes the first matching word (one in …): enough to read it in its sentence.
LEAD_PART = 4
# Search for this many times as many entries as passages are shown, or for as many of this length as fit into the block.
SPARE_ENTRIES, SPARE_LINE_CHARS = 4, 100


class Section(Struct, frozen=True):
    """The layer of a section, and how much its lines are worth relative to those of other sections."""

    layer: Layer
    parts: int
    # Lines are selected best first, and printed in reverse order.
    newest_last: bool = False
    # Lines are selected best first, and printed in reading order.
    in_passages: bool = False


# In the order of the block. Messages and facts answer questions; names of topics and tasks only say where to look.
SECTIONS: dict[str, Section] = {
    model.LOCATION: Section("A:board_session", 24),
    model.WORKING_TOPICS: Section("A:working_set", 1),
    model.WORKING_TASKS: Section("A:working_set", 2),
    model.ROUTING: Section("A:routing_memory", 1, newest_last=True),
    model.TIMELINE: Section("A:timeline", 4, newest_last=True),
    model.KEPT_FACTS: Section("A:memory", 12),
    model.RECALLED_TOPICS: Section("B:semantic", 2),
    model.RECALLED_TASKS: Section("B:semantic", 3),
    model.NOTES: Section("B:semantic", 12),
    model.RECALLED_LOGS: Section("B:semantic", 24, in_passages=True),
}


class Layout(Struct, frozen=True):
    """A block, its lines in order, and how many lines of each section did not fit."""

    block: str
    lines: tuple[Line, ...]
    omitted: dict[str, int]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers of these lines, in the order of the block."""
        present = {line.section for line in self.lines}
        return tuple(dict.fromkeys(section.layer for name, section in SECTIONS.items() if name in present))


def width(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


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
    return text[:kept] + CUT if width_max > 0 else ""


def as_line(text: str, width_max: int) -> str:
    """Return a text as one line of a block: without line breaks, cut to a length."""
    return cut(one_line(text), width_max)


def injected(block: str) -> str:
    """Return a block for programs that know Clawboard's: between markers, with a sentence that explains it."""
    return f"{ContextMarks.BEGIN}\n{ContextMarks.PREAMBLE}\n{block}\n{ContextMarks.END}"


def shown_to_run(block: str) -> str:
    """Return a block as it is shown to a run."""
    return f"{ContextMarks.OWN_BEGIN}\n{ContextMarks.PREAMBLE}\n{block}\n{ContextMarks.OWN_END}"


# The longest text put around a block.
AROUND_CHARS = len(injected(""))


def worth(section: str, lines: Sequence[Line]) -> float:
    """Return how much a section is worth for a question: by its kind, and by how well its best line matches."""
    scores = [line.score for line in lines if line.score is not None]
    return SECTIONS[section].parts * (max(scores) if scores else 1.0)


def lay_out(
    lines: Iterable[Line], *, question: str, mode: Depth, max_chars: int, form: Form = "clawboard"
) -> Layout:  # fmt: skip
    """Return the block, and what was left out; in a run it is ordered by worth and does not repeat the message."""
    sections = {name: list[Line]() for name in SECTIONS}
    for line in lines:
        sections[line.section].append(line)
    served = {name: _best_first(name, own) for name, own in sections.items() if own}
    head = _head(TITLES[form], "" if form == "run" else question, "auto" if form == "run" else mode, max_chars)
    room = max_chars - width("\n".join(head))
    taken = _taken(served, room) or _cut_first(served, room)
    if form == "run":
        taken = {name: taken[name] for name in _by_worth(served) if name in taken}
    printed, shown = list(head), list[Line]()
    for name, own in taken.items():
        kept = _as_printed(name, sections[name], own)
        printed += [name, *(line.line for line in kept)]
        shown += kept
    omitted = {name: len(own) - len(taken.get(name, ())) for name, own in sections.items()}
    return Layout("\n".join(printed), tuple(shown), {name: count for name, count in omitted.items() if count})


def _best_first(section: str, lines: list[Line]) -> list[Line]:
    """The lines of a section in the order of selection; passages in reading order."""
    return sorted(lines, key=lambda line: -(line.score or 0)) if SECTIONS[section].in_passages else lines


def _as_printed(section: str, lines: list[Line], taken: list[Line]) -> list[Line]:
    """The selected lines of a section, in printing order."""
    if SECTIONS[section].in_passages:
        positions = {line.id: at for at, line in enumerate(lines)}
        return sorted(taken, key=lambda line: positions[line.id])
    return taken[::-1] if SECTIONS[section].newest_last else taken


def _by_worth(served: dict[str, list[Line]]) -> list[str]:
    """The sections with lines, the most valuable first."""
    return sorted(served, key=lambda name: -worth(name, served[name]))


def _head(title: str, question: str, mode: Depth, max_chars: int) -> list[str]:
    if max_chars < width(title):
        return [title[:max_chars]]
    head, left = [title], max_chars - width(title)
    intent = as_line(question, min(_INTENT_CHARS_MAX, max_chars // _INTENT_PART))
    for line in ([_INTENT + intent] if intent else []) + ([f"Mode: {mode}"] if mode != "auto" else []):
        if width(line) < left:
            head.append(line)
            left -= width(line) + 1
    return head


def _taken(served: dict[str, list[Line]], room: int) -> dict[str, list[Line]]:
    """The lines shown of each section, best first, within the room in total; sections as in the block."""
    worths = {name: worth(name, lines) for name, lines in served.items()}
    taken: dict[str, list[Line]] = {name: [] for name in served}
    left, total = room, sum(worths.values())
    # First each section takes from its own share, then from what is left; the most valuable first.
    for own_share in (True, False):
        for name in _by_worth(served):
            limit = int(room * worths[name] / total) if own_share else left
            used, more = _fitting(name, served[name][len(taken[name]) :], limit, begun=bool(taken[name]))
            taken[name] += more
            left -= used
    return {name: lines for name, lines in taken.items() if lines}


def _cut_first(served: dict[str, list[Line]], room: int) -> dict[str, list[Line]]:
    """The most valuable line, cut to the available room if that is enough, so that the block is not empty."""
    name = next(iter(_by_worth(served)), None)
    if name is None or room - width(name) - 2 < _CUT_LINE_CHARS_MIN:
        return {}
    first = served[name][0]
    return {name: [structs.replace(first, line=cut(first.line, room - width(name) - 2))]}


def _fitting(name: str, lines: list[Line], limit: int, *, begun: bool) -> tuple[int, list[Line]]:
    """The first lines that fit into the limit, and their size; a section has a heading."""
    used, count, cost = 0, 0, 0 if begun else 1 + width(name)
    for line in lines:
        cost += 1 + width(line.line)
        if used + cost > limit:
            break
        used, count, cost = used + cost, count + 1, 0
    return used, lines[:count]

"""Excerpts of texts that are too long for their line: the part that answers the question. Pure."""

from carrel.context.budget import CUT, cut, width
from carrel.kernel import one_line
from carrel.search import places_of

# How much of the line precedes the first matching word (one in …): enough to read it in its sentence.
_LEAD_PART = 4


def excerpt(text: str, words: frozenset[str], width_max: int) -> str:
    """Return a text as one line within a length: its beginning, or the part with most of the words."""
    whole = one_line(text)
    if width(whole) <= width_max:
        return whole
    first = _densest(whole, words, width_max - width_max // _LEAD_PART)
    start = first - width_max // _LEAD_PART
    if start <= 0:
        return cut(whole, width_max)
    # If the text ends earlier, start earlier, so that the line is filled.
    start = min(start, len(whole) - width_max + 1)
    # At the beginning of a word, if one begins before the first match.
    space = whole.find(" ", start, first)
    return cut(CUT + whole[start if space < 0 else space + 1 :], width_max)


def _densest(text: str, words: frozenset[str], span: int) -> int:
    """The start of the part of a text that contains the most different words."""
    places = list(places_of(text, words))
    best, best_at, last = 0, 0, 0
    counts: dict[str, int] = {}
    for at, word in places:
        # Words leave at the back of the window as new ones enter at its front.
        while last < len(places) and places[last][0] < at + span:
            counts[places[last][1]] = counts.get(places[last][1], 0) + 1
            last += 1
        if len(counts) > best:
            best, best_at = len(counts), at
        counts[word] -= 1
        if not counts[word]:
            del counts[word]
    return best_at

"""The lines that best match a question, by the words they share: rare words count more. No model, no chance."""

import re
from collections import Counter
from math import fsum, log

from carrel.gateway.builtin.view import Line

QUOTES_MAX = 3
_COVERED_MIN = 0.34
_NEAR_BEST = 0.6
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    _WORD.findall("""
a about all am an and any anything are as at be been but by can could did do does find for from had has have he her him
his how i if in into is it its just know let list me my no not of on or our please quote recall remember remind said say
search she should show so some something tell than that the their them then there these they this to up us was we were
what when where which who whom whose why will with would you your
""")
)


def best_lines(question: str, lines: tuple[Line, ...]) -> list[Line]:
    """At most three lines that answer `question` best, the best first; none when nothing fits well enough."""
    asked = _terms(question)
    candidates = _candidates(question, lines)
    if not asked or not candidates:
        return []
    shared = [asked & _terms(line.text) for line in candidates]
    lines_with = Counter(term for terms in shared for term in terms)
    weights = {term: _weight(lines_with[term], len(candidates)) for term in asked}
    # Sums of floats depend on their order, and the order of a set differs from one start of the program to the next.
    whole = fsum(weights.values())
    scored = [(fsum(weights[term] for term in terms) / whole, index) for index, terms in enumerate(shared)]
    scored.sort(key=lambda pair: (-round(pair[0], 9), -pair[1]))
    bar = max(_COVERED_MIN, scored[0][0] * _NEAR_BEST)
    return [candidates[index] for score, index in scored[:QUOTES_MAX] if score >= bar]


def _weight(lines_with_it: int, lines: int) -> float:
    """How telling a word is: the rarer, the more; one that stands nowhere counts half, as it may only be wording."""
    return log(1 + lines / lines_with_it) if lines_with_it else log(1 + lines) / 2


def _candidates(question: str, lines: tuple[Line, ...]) -> list[Line]:
    """Lines that tell something: no questions, no quotes of quotes, each text once and in its newest place."""
    newest = {
        line.text.casefold(): line
        for line in lines
        if not line.text.endswith("?") and not line.text.startswith(">") and line.text != question
    }
    return list(newest.values())


def _terms(text: str) -> set[str]:
    words = (word for word in _WORD.findall(text.casefold()) if word not in _COMMON)
    return {_stem(word) for word in words}


def _stem(word: str) -> str:
    for ending, kept in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return (word[: -len(ending)] + kept).rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word

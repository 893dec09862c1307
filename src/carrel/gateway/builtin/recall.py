"""Finding the lines that best match a question by shared words; rare words count more. Deterministic."""

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
    """Return up to three lines that match `question` best, the best first; none if no match is good enough."""
    # No questions, no quotes, and each text once, at its newest position.
    is_quotable = (line.text != question and line.text[-1:] != "?" and line.text[:1] != ">" for line in lines)
    newest = {line.text.casefold(): line for line, is_one in zip(lines, is_quotable, strict=True) if is_one}
    asked, candidates = _terms(question), list(newest.values())
    if not asked or not candidates:
        return []
    shared = [asked & _terms(line.text) for line in candidates]
    found, many = Counter(term for terms in shared for term in terms), len(candidates)
    # A word in no line counts half, as it may be mere wording.
    weights = {term: log(1 + many / found[term]) if found[term] else log(1 + many) / 2 for term in asked}
    # fsum, because a plain sum of floats depends on the order of a set, which differs between processes.
    whole = fsum(weights.values())
    scored = [(fsum(weights[term] for term in terms) / whole, index) for index, terms in enumerate(shared)]
    scored.sort(key=lambda pair: (-round(pair[0], 9), -pair[1]))
    bar = max(_COVERED_MIN, scored[0][0] * _NEAR_BEST)
    return [candidates[index] for score, index in scored[:QUOTES_MAX] if score >= bar]


def _terms(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text.casefold()) if word not in _COMMON}


def _stem(word: str) -> str:
    for ending, kept in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return (word[: -len(ending)] + kept).rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word

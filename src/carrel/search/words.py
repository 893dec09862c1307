"""The words of a text: documents are indexed by them, and queries look them up. Pure, and linear in the text.

Both databases use these words, so that they find the same documents.
"""

import re
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from carrel.kernel import MS_PER_DAY, MS_PER_SECOND
from carrel.kernel.limits import SEARCH_QUERY_WORDS_MAX, SEARCH_WORD_CHARS_MAX, SEARCH_WORDS_MAX

# Letters and digits only: never an underscore, which marks the tokens that say who may find a document.
_WORD = re.compile(r"[^\W_]+")
# Scripts that put no spaces between words are indexed in pairs of characters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_VOWEL = re.compile(r"[aeiouy]")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
# English and German; none of the German ones means something in English, except "die".
_STOP_WORDS = """
a about after again also am an and any are as at be because been before being between both but by can could d did do
does down during each few for from get got had has have having he her here him his how i if in into is it its just like
ll m me might more most must my no not of off on one only or other our out over own re s same shall she should so some
such t than that the their them then there these they this those through to too under until up us ve very was we were
what when where which while who whom whose why will with would you your
aber alle als auch auf aus bei bis bitte das dass dein deine dem den denn der des dich die dies diese diesem diesen
dieser dieses dir doch du ein eine einem einen einer eines er es euch für habe haben hatte hier ich ihm ihn ihr ihre im
ist ja jetzt kann kein keine können mein meine meinem meinen meiner mich mir mit muss nach nicht noch nur oder sehr sein
seine seit sich sie sind soll über und uns unser unsere unter vom von vor wann warum weil welche wem wen wenn wer werden
wie wir wird wo wurde zum zur
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without their endings."""
    return [form for word in _WORD.findall(text.lower()) for form in _forms(word)]


def positions_of(text: str, words: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the positions in a text of some words, in any of their forms, with the word."""
    # Match by match: the lower-case text may have another length.
    for match in _WORD.finditer(text):
        yield from ((match.start(), form) for form in _forms(match[0].lower()) if form in words)


def _forms(word: str) -> Iterable[str]:
    # Anybody can send a word of megabytes, which must not be cached.
    return _short_forms(word) if len(word) <= SEARCH_WORD_CHARS_MAX else _find_forms(word)


def _find_forms(word: str) -> tuple[str, ...]:
    return (stem(word)[:SEARCH_WORD_CHARS_MAX],) if word.isascii() else tuple(_parts(word))


# Most of what is said consists of a few thousand words.
_short_forms = lru_cache(maxsize=16_384)(_find_forms)


def _parts(word: str) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        yield from filter(None, [word[at : run.start()][:SEARCH_WORD_CHARS_MAX]])
        yield from (run[0][n : n + 2] for n in range(max(1, len(run[0]) - 1)))
        at = run.end()
    yield from filter(None, [word[at:][:SEARCH_WORD_CHARS_MAX]])


def stem(word: str) -> str:
    """Return an English word without its commonest endings; all forms of a word become the same."""
    if len(word) <= 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) >= 3 and _VOWEL.search(rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def date_words(at: int) -> tuple[str, ...]:
    """Return the words of a day, so that a question with a date finds what was said on it."""
    return _day_words(at // MS_PER_DAY)


# Almost everything that is indexed now was written today.
@lru_cache(maxsize=1024)
def _day_words(days: int) -> tuple[str, ...]:
    try:
        day = datetime.fromtimestamp(days * MS_PER_DAY / MS_PER_SECOND, UTC)
    except (ValueError, OverflowError, OSError):
        return ()
    return stem(_MONTHS[day.month - 1]), str(day.year), str(day.day)


def distinct_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return each word once, in order, up to the number that a document is indexed under."""
    return _first(words, SEARCH_WORDS_MAX)


def query_words(text: str) -> tuple[str, ...]:
    """Return the words of a query to look up: without stop words, unless there are no others."""
    said = [match[0] for match in _WORD.finditer(text.lower())]
    telling = [word for word in said if word not in STOP_WORDS] or said
    return _first((form for word in telling for form in _forms(word)), SEARCH_QUERY_WORDS_MAX)


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a query without the names in it, for its vector: a name says who, not what."""
    known = {match[0] for name in names for match in _WORD.finditer(name.lower())}
    kept = (part for part in text.split() if not _is_name(part.lower(), known))
    return " ".join(kept) or text


def _is_name(part: str, known: set[str]) -> bool:
    found = _WORD.findall(part)
    # "Ann's" is a name too.
    return bool(found) and found[0] in known and all(word in known or word == "s" for word in found[1:])


def _first(words: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(words), most))

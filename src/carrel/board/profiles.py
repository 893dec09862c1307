"""Profiles: the words by which a topic is recognised, and their weights. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from carrel.board.common_words import FILLER_WORDS, FIRST_NAMES
from carrel.kernel import limits
from carrel.search import words_of

_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
# What an apostrophe separates: "don't" becomes "don", "we'll" becomes "we".
_ENDING = re.compile(r"['\u2019](?:s|t|m|ll|ve|re|d)\b", re.IGNORECASE)
_CODE = re.compile(r"```.*?(?:```|\Z)|https?://\S+", re.DOTALL)


class Profile(Struct, frozen=True):
    """Words of a topic's messages, each with its number of messages and the form it was first seen in.

    `named` is how many messages there were when the topic was named; 0 if it is named after a message.
    """

    lines: int = 0
    words: Mapping[str, tuple[int, str]] = {}
    named: int = 0

    def with_said(self, texts: Iterable[str]) -> "Profile":
        """Return the profile with more messages; meaningless ones do not count."""
        said = [words for words in map(distinctive_words, texts) if words]
        return self._with(len(said), ((word, 1, form) for words in said for word, form in words.items()))

    def joined(self, other: "Profile") -> "Profile":
        """Return the profile of both topics together."""
        return self._with(other.lines, ((word, count, form) for word, (count, form) in other.words.items()))

    def _with(self, lines: int, more: Iterable[tuple[str, int, str]]) -> "Profile":
        words = dict(self.words)
        for word, count, form in more:
            # Removed first, so that the words seen last are at the end.
            before, known = words.pop(word, (0, form))
            words[word] = (before + count, known)
        return Profile(self.lines + lines, _commonest(words), self.named)

    @property
    def text(self) -> str:
        """The words as one text, for its embedding."""
        return " ".join(form for _, form in self.words.values())


def distinctive_words(text: str) -> Mapping[str, str]:
    """Return the words of a message that reveal its subject, each with the form used there."""
    return _telling(text[: limits.CLASSIFIER_SAID_CHARS_MAX * 2])


# Topic names and the newest messages are read again for each message.
@lru_cache(maxsize=limits.SIMILARITY_TEXTS_KEPT)
def _telling(text: str) -> Mapping[str, str]:
    read = _ENDING.sub("", _CODE.sub(" ", text)[: limits.CLASSIFIER_SAID_CHARS_MAX])
    found: dict[str, str] = {}
    for match in _WORD.finditer(read):
        form = match[0]
        if len(form) < 2 or form.isdigit() or is_filler(form):
            continue
        for word in words_of(form):
            if word not in FILLER_WORDS:
                found.setdefault(word, form)
    return found


def is_filler(word: str) -> bool:
    """Return whether a word says nothing about a subject: a common word, or a first name."""
    lower = word.lower()
    return lower in FILLER_WORDS or lower in FIRST_NAMES


def common_share(text: str) -> float:
    """Return the share of a message's words that are known common words."""
    words = _LETTERS.findall(text[: limits.CLASSIFIER_SAID_CHARS_MAX])
    return sum(map(is_filler, words)) / len(words) if words else 1.0


def gist(text: str) -> str:
    """Return the part of a message that reveals its subject, for its embedding."""
    return " ".join(distinctive_words(text).values())


def _commonest(words: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """The words in the most messages; among equals, those seen last."""
    if len(words) <= limits.CLASSIFIER_PROFILE_WORDS_MAX:
        return words
    ranked = sorted(enumerate(words), key=lambda at: (-words[at[1]][0], -at[0]))[: limits.CLASSIFIER_PROFILE_WORDS_MAX]
    return {word: words[word] for _, word in sorted(ranked)}


class Weights:
    """The weight of words among topics: rarer words weigh more."""

    def __init__(self, bags: Sequence[Iterable[str]]) -> None:
        self._topics = len(bags)
        self._having = Counter(word for bag in bags for word in bag)

    def of(self, word: str) -> float:
        """Return the weight of a word."""
        return math.log(1 + (self._topics + 1) / (self._having[word] + 0.5))

    def share(self, part: Mapping[str, float], whole: Iterable[str]) -> float:
        """Return the weight of some words relative to a whole, each with its count."""
        total = sum(map(self.of, whole))
        return sum(self.of(word) * counted for word, counted in part.items()) / total if total else 0.0

"""How well a text fits a topic or a task: by words, by the name, and by meaning. Pure.

Each part is between 0 and 1 whatever the candidates are, so that a lone weak candidate gets a low score.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.search import query_words, words_of

# A word says more the fewer candidates have it; one more time in the same text says less each time.
_SATURATION = 0.6
# Static vectors of unrelated texts are about this similar.
_UNRELATED = 0.3
_NAME, _WORDS, _MEANING = 0.45, 0.4, 0.3


class Candidate(Struct, frozen=True, kw_only=True):
    """A topic or a task that a text may belong to; `said` is what was last said there."""

    id: str
    name: str
    description: str = ""
    said: tuple[str, ...] = ()
    # What is taken off because it is put aside.
    penalty: float = 0.0

    @property
    def text(self) -> str:
        """Everything that it is recognised by."""
        return "\n".join((self.name, self.description, *self.said))


class Score(Struct, frozen=True, kw_only=True):
    """How well a candidate fits, from 0 to 1."""

    id: str
    value: float


def scores(text: str, candidates: Sequence[Candidate], meanings: Mapping[str, float]) -> list[Score]:
    """Return the score of each candidate, best first; `meanings` has how near each is, as far as that is known."""
    asked = query_words(text)
    bags = [Counter(words_of(candidate.text)) for candidate in candidates]
    names = [frozenset(query_words(candidate.name)) for candidate in candidates]
    having = Counter(word for bag in bags for word in bag)
    weights = _Weights(having, len(candidates))
    found = [
        _score(candidate, asked, bag, name, weights, meanings.get(candidate.id))
        for candidate, bag, name in zip(candidates, bags, names, strict=True)
    ]
    return sorted(found, key=lambda score: -score.value)


class _Weights:
    def __init__(self, having: Counter[str], count: int) -> None:
        self._having = having
        self._count = count

    def of(self, word: str) -> float:
        having = self._having[word]
        return math.log(1 + (self._count - having + 0.5) / (having + 0.5)) + 0.2

    def share(self, part: Sequence[float], whole: Sequence[str] | frozenset[str]) -> float:
        total = sum(map(self.of, whole))
        return sum(part) / total if total else 0.0


def _score(
    candidate: Candidate, asked: tuple[str, ...], bag: Counter[str], name: frozenset[str], weights: _Weights,
    similarity: float | None,
) -> Score:  # fmt: skip
    words = weights.share([weights.of(w) * bag[w] / (bag[w] + _SATURATION) for w in asked if w in bag], asked)
    # Words of a name that the text has; a name of many words needs more of them.
    named = weights.share([weights.of(word) for word in asked if word in name], name)
    meaning = None if similarity is None else max(0.0, (similarity - _UNRELATED) / (1 - _UNRELATED))
    value = _NAME * named + _WORDS * words + _MEANING * (meaning or 0.0) - candidate.penalty
    return Score(id=candidate.id, value=min(1.0, max(0.0, value)))


def likeness(one: str, other: str) -> float:
    """Return how alike two names are: the share of the words that they have in common."""
    first, second = set(query_words(one)), set(query_words(other))
    return len(first & second) / len(first | second) if first or second else float(one == other)

"""How well a text fits a topic or a task: by words, by the name, and by meaning. Pure.

Each part is between 0 and 1 whatever the candidates are, so that a lone weak candidate gets a low score.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from carrel.search import query_words, words_of

# A word says more the fewer candidates have it; one more time in the same text says less each time.
_SATURATION = 0.6
# Static vectors of unrelated texts are about this similar.
_UNRELATED = 0.3
_NAME, _WORDS, _MEANING = 0.45, 0.4, 0.3
# What is taken off a candidate that is put aside.
_SNOOZED_PENALTY = 0.05


class Candidate(Struct, frozen=True, kw_only=True):
    """A topic or a task that a text may belong to; `said` is what was last said there."""

    id: str
    name: str
    description: str = ""
    said: tuple[str, ...] = ()
    is_snoozed: bool = False

    @property
    def text(self) -> str:
        """Everything that it is recognised by."""
        return "\n".join((self.name, self.description, *self.said))


class TaskCandidate(Candidate, frozen=True, kw_only=True):
    """A task that a text may belong to, and its topic."""

    topic_id: str | None = None


class Score(Struct, frozen=True, kw_only=True):
    """How well a candidate fits, from 0 to 1."""

    id: str
    value: float


def scores(text: str, candidates: Sequence[Candidate], meanings: Mapping[str, float]) -> list[Score]:
    """Return the score of each candidate, best first; `meanings` has how near each is, as far as that is known."""
    asked = query_words(text)
    bags = [Counter(words_of(candidate.text)) for candidate in candidates]
    having = Counter(word for bag in bags for word in bag)

    def weight(word: str) -> float:
        return math.log(1 + (len(candidates) - having[word] + 0.5) / (having[word] + 0.5)) + 0.2

    def share(part: Sequence[float], whole: Iterable[str]) -> float:
        total = sum(map(weight, whole))
        return sum(part) / total if total else 0.0

    def score(candidate: Candidate, bag: Counter[str]) -> Score:
        words = share([weight(w) * bag[w] / (bag[w] + _SATURATION) for w in asked if w in bag], asked)
        # Words of a name that the text has; a name of many words needs more of them.
        name = frozenset(query_words(candidate.name))
        named = share([weight(word) for word in asked if word in name], name)
        meaning = max(0.0, (meanings.get(candidate.id, 0.0) - _UNRELATED) / (1 - _UNRELATED))
        penalty = _SNOOZED_PENALTY if candidate.is_snoozed else 0.0
        value = _NAME * named + _WORDS * words + _MEANING * meaning - penalty
        return Score(id=candidate.id, value=min(1.0, max(0.0, value)))

    return sorted(map(score, candidates, bags), key=lambda score: -score.value)


def likeness(one: str, other: str) -> float:
    """Return how alike two names are: the share of the words that they have in common."""
    first, second = set(query_words(one)), set(query_words(other))
    return len(first & second) / len(first | second) if first or second else float(one == other)

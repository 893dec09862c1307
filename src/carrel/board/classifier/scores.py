"""How well a text fits a topic or a task: by words, by the name, and by meaning. Pure.

Each part is between 0 and 1 whatever the candidates are, so that a lone weak candidate gets a low score.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.board.profiles import Profile, Weights, telling_words
from carrel.search import query_words

# Once more in the same topic says less each time; and a text of few words says less than one of many.
_SATURATION, _FEW = 0.6, 0.5
_NAME, _WORDS, _MEANING = 0.45, 0.45, 0.3
# What is taken off a candidate that is put aside.
_SNOOZED_PENALTY = 0.05


class Candidate(Struct, frozen=True, kw_only=True):
    """A topic or a task that a text may belong to."""

    id: str
    name: str
    description: str = ""
    # What people said there; None where that is not known.
    profile: Profile | None = None
    is_snoozed: bool = False
    # Whether it is visible in its own space alone, and whether the classifier may rename it and merge it into another.
    is_plain: bool = True
    is_loose: bool = False

    @property
    def known_by(self) -> Profile:
        """The words of its messages, and those of its name and description."""
        return (self.profile or Profile()).with_said((self.name, self.description))

    @property
    def text(self) -> str:
        """Everything that it is recognised by."""
        return self.known_by.text


class TaskCandidate(Candidate, frozen=True, kw_only=True):
    """A task that a text may belong to, and its topic."""

    topic_id: str | None = None


class Score(Struct, frozen=True, kw_only=True):
    """How well a candidate fits, from 0 to 1."""

    id: str
    value: float


def scores(text: str, candidates: Sequence[Candidate], meanings: Mapping[str, float]) -> list[Score]:
    """Return the score of each candidate, best first; `meanings` has how near each is, as far as that is known."""
    asked = telling_words(text)
    bags = [candidate.known_by.words for candidate in candidates]
    weights = Weights(bags)

    def score(candidate: Candidate, bag: Mapping[str, tuple[int, str]]) -> Score:
        known = {word: bag[word][0] / (bag[word][0] + _SATURATION) for word in asked if word in bag}
        words = weights.share(known, asked) * len(asked) / (len(asked) + _FEW)
        # Words of a name that the text has; a name of many words needs more of them, and so does a text of many others.
        name = telling_words(candidate.name)
        named = weights.share(dict.fromkeys(name.keys() & asked.keys(), 1.0), name)
        named *= (1 + weights.share(dict.fromkeys(known, 1.0), asked)) / 2
        penalty = _SNOOZED_PENALTY if candidate.is_snoozed else 0.0
        value = _NAME * named + _WORDS * words + _MEANING * max(0.0, meanings.get(candidate.id, 0.0)) - penalty
        return Score(id=candidate.id, value=min(1.0, max(0.0, value)))

    return sorted(map(score, candidates, bags), key=lambda score: -score.value)


def likeness(one: str, other: str) -> float:
    """Return how alike two names are: the share of the words that they have in common."""
    first, second = set(query_words(one)), set(query_words(other))
    return len(first & second) / len(first | second) if first or second else float(one == other)

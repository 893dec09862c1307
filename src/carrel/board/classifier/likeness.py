"""Which topics are about the same, by what people said in them. Pure.

Everything is relative to the topics of the same space: a word that most of them have says nothing.
"""

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec import Struct

from carrel.board.classifier.rules import SMALL_TALK
from carrel.board.classifier.scores import Candidate
from carrel.board.profiles import Profile
from carrel.kernel.limits import CLASSIFIER_FRAGMENT_LINES_MAX

# From here on two topics are the same, when their words count once and their meaning by a part.
_SAME_MIN, _MEANING = 0.23, 0.3
# One word in common may have two meanings.
_SHARED_MIN = 2
# The words of a long topic are like those of any other to some degree: so many messages make up one talk, and two talks
# about the same are about so alike.
_TALK_LINES, _TALKS_ALIKE = 5, 0.25


class Merge(Struct, frozen=True):
    """One topic that is about the same as another, into which it is merged."""

    topic_id: str
    other_id: str


# How near two topics are in meaning, by their ids.
Near = Mapping[tuple[str, str], float]


def best_merge(topics: Sequence[Candidate], touched: Container[str], open_: Container[str], near: Near) -> Merge | None:
    """Return the two topics that are most alike, one of which was talked about of late; None where none are.

    `open_` are those that are still talked about: they are left alone while they have few messages.
    """
    known = [topic for topic in topics if is_mergeable(topic) and not (is_fragment(topic) and topic.id in open_)]
    vectors = _vectors(known)
    pairs = _pairs(known, touched)
    ranked = max(((_likeness(one, other, vectors, near), one, other) for one, other in pairs), default=None, key=_first)
    if ranked is None or ranked[0] < _SAME_MIN:
        return None
    into, other = sorted(ranked[1:], key=lambda topic: (topic.is_loose, -_lines(topic), topic.id))
    return Merge(into.id, other.id)


def is_mergeable(topic: Candidate) -> bool:
    """Return whether a topic takes part in merging: small talk, what is put aside and what other spaces see do not."""
    return _lines(topic) > 0 and topic.is_plain and not topic.is_snoozed and topic.name != SMALL_TALK


def is_fragment(topic: Candidate) -> bool:
    """Return whether a topic has too few messages to stand alone."""
    return topic.is_loose and topic.name != SMALL_TALK and _lines(topic) <= CLASSIFIER_FRAGMENT_LINES_MAX


def _first(ranked: tuple[float, Candidate, Candidate]) -> tuple[float, str, str]:
    return ranked[0], ranked[1].id, ranked[2].id


def _pairs(topics: Sequence[Candidate], touched: Container[str]) -> Iterator[tuple[Candidate, Candidate]]:
    """Two topics each, one of which was talked about and one of which may be merged into the other."""
    late = [topic for topic in topics if topic.id in touched]
    for one in late:
        for other in topics:
            is_new = other.id not in touched or one.id < other.id
            if other.id != one.id and is_new and (one.is_loose or other.is_loose):
                yield one, other


def _vectors(topics: Sequence[Candidate]) -> dict[str, dict[str, float]]:
    """The words of each topic, weighted by how often it has them and how few others do, at unit length."""
    having = Counter(word for topic in topics for word in _profile(topic).words)
    found: dict[str, dict[str, float]] = {}
    for topic in topics:
        vector = {
            word: (1 + math.log(count)) * math.log(1 + len(topics) / having[word])
            for word, (count, _) in _profile(topic).words.items()
        }
        length = math.hypot(*vector.values()) or 1.0
        found[topic.id] = {word: value / length for word, value in vector.items()}
    return found


def _likeness(one: Candidate, other: Candidate, vectors: Mapping[str, Mapping[str, float]], near: Near) -> float:
    small, large = sorted((vectors[one.id], vectors[other.id]), key=len)
    shared = [value * large[word] for word, value in small.items() if word in large]
    if len(shared) < _SHARED_MIN:
        return 0.0
    words = sum(shared)
    meaning = max(0.0, near.get((one.id, other.id), 0.0))
    return (words + _MEANING * meaning) * _spread(one) * _spread(other)


def _spread(topic: Candidate) -> float:
    """How alike one talk in a topic is to all of it: less, the more there are."""
    talks = max(1.0, _lines(topic) / _TALK_LINES)
    return math.sqrt((1 + (talks - 1) * _TALKS_ALIKE) / talks)


def _profile(topic: Candidate) -> Profile:
    return topic.profile or Profile()


def _lines(topic: Candidate) -> int:
    return _profile(topic).lines

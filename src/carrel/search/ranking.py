"""Ranking: one linear score over everything that words or meaning bring up, with the statistics of the scope.

Two lists merged by rank would let a weak ranker count as much as a strong one. Each part of the score here has a weight
and a scale that is the same for every query, so scores can be compared.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.kernel import Access
from carrel.kernel.limits import (
    SEARCH_MATCHES_MAX,
    SEARCH_MATCHES_PER_WORD_MAX,
    SEARCH_QUICK_MATCHES_MAX,
    SEARCH_QUICK_VECTORS_MAX,
)
from carrel.kernel.settings import SearchSettings
from carrel.search import store
from carrel.search.model import KINDS, DocumentKind, Hit, Reason, SearchQuery
from carrel.search.shelf import Positions, View
from carrel.search.store import Stored
from carrel.search.vectors import Floats, codes_of
from carrel.storage import Tx

# How soon more of the same says nothing new, and how much a long text is held against it.
_SATURATION, _LENGTH = 1.2, 0.3
# What was said up to two entries before or after counts half.
_SPAN, _BESIDE = 2, 0.5
_OWN, _NEAR, _STRETCH = 0.2, 1.0, 0.8
_MEANING, _MEANING_BEFORE = 0.4, 0.15
_NAMED, _LABEL, _NOTE, _QUESTION = 0.15, 0.3, 0.15, -0.08
# About what a text scores that says all the words of a query and means the same.
_FULL = 1.25
# Texts that have nothing to do with each other are about this similar; below, no word in common means no hit.
_MEANING_MIN = 0.25
_NOTE_KIND = KINDS.index("note")
_CODES_AT_ONCE = 16_384


class Weights(Struct, frozen=True):
    """How much each word of a query says in this scope, and all of them together."""

    by_word: dict[str, float]
    total: float


class Matches(Struct, frozen=True, kw_only=True):
    """What the words of a query bring up: the first three arrays have a row for each document in scope."""

    weights: Weights
    own: Floats
    near: Floats
    # What the entry's own words add to `near`.
    near_alone: Floats
    # The same of whole stretches of conversation.
    of_stretches: Floats
    # Words that too many documents have; only the best of the others are asked for them.
    common: tuple[str, ...]


def match_words(
    tx: Tx, access: Access, view: View, scope: str, words: tuple[str, ...], *, quick: bool = False
) -> Matches:  # fmt: skip
    """Look every word up in the scope and add up what each says about each document."""
    in_all = SEARCH_QUICK_MATCHES_MAX if quick else SEARCH_MATCHES_MAX
    limit = min(SEARCH_MATCHES_PER_WORD_MAX, in_all // max(1, len(words)))
    found = {word: _positions(tx, access, view, scope, word, limit) for word in words}
    common = tuple(word for word, positions in found.items() if len(positions) >= limit)
    if len(common) == len(words):
        common = ()
    weights = {word: _weight(len(positions), len(view.members)) for word, positions in found.items()}
    total = sum(weights.values()) or 1.0
    sums = _Sums(view)
    for word, positions in found.items():
        if len(positions) and word not in common:
            sums.add(positions, weights[word] / total, total)
    return Matches(
        weights=Weights(weights, total),
        own=sums.own,
        near=sums.near,
        near_alone=sums.near_alone,
        of_stretches=sums.of_stretches,
        common=common,
    )


def _positions(tx: Tx, access: Access, view: View, scope: str, word: str, limit: int) -> Positions:
    numbers = store.matching(tx, access, scope, word, limit=limit)
    at = np.minimum(np.searchsorted(view.numbers, numbers), len(view.numbers) - 1)
    # The index and the figures are of one moment, so this drops nothing; it must never widen a scope.
    found: Positions = at[(view.numbers[at] == numbers) & view.in_scope[at]].astype(np.int32)
    return found


def _weight(having: int, count: int) -> float:
    return math.log(1 + max(0, count - having + 0.5) / (having + 0.5))


class _Sums:
    """The sums over the words of a query."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.own, self.near, self.near_alone, self._counts = np.zeros((4, len(view.members)), dtype=np.float32)
        self._mean = view.length
        self.of_stretches = np.zeros(len(view.said), dtype=np.float32)
        self._stretches = max(1, int((view.said > 0).sum()))
        self._stretch_norm = _norm(view.said, float(view.said.sum()) / self._stretches)

    def add(self, positions: Positions, share: float, total: float) -> None:
        """Add one word, which these documents have."""
        view = self._view
        places = view.places[positions]
        self.own[places] += share / (1 + _norm(view.lengths[positions], self._mean))
        self.near_alone[places] += share / (1 + _SATURATION)
        touched = self._count_near(positions)
        counts = self._counts[touched]
        # A place may be there several times; each time the same is written.
        self.near[touched] = self.near[touched] + share * counts / (counts + _SATURATION)
        self._counts[touched] = 0
        having = np.bincount(view.stretches[positions], minlength=len(self.of_stretches))
        weight = _weight(int((having > 0).sum()), self._stretches) / total
        self.of_stretches += (weight * having / (having + self._stretch_norm)).astype(np.float32)

    def _count_near(self, positions: Positions) -> Positions:
        """Count a word at each document and, for less, at those in scope beside it; return the places of all."""
        view = self._view
        touched = [view.places[positions]]
        self._counts[touched[0]] = 1
        for links in (view.previous, view.following):
            beside = positions
            for _ in range(_SPAN):
                beside = links[beside]
                beside = beside[beside >= 0]
                touched.append(view.places[beside[view.in_scope[beside]]])
                self._counts[touched[-1]] += _BESIDE
        return np.concatenate(touched)


def _norm(lengths: NDArray[np.generic], mean: float) -> Floats:
    relative = np.asarray(lengths, dtype=np.float32) / max(mean, 1.0)
    norm: Floats = (_SATURATION * (1 - _LENGTH + _LENGTH * relative)).astype(np.float32)
    return norm


def best_by_words(view: View, matches: Matches, limits: dict[int, int]) -> Positions:
    """Return the positions of the best documents of each kind, as far as words and their surroundings say."""
    places = np.flatnonzero(matches.near)
    at = view.members[places]
    score = _OWN * matches.own[places] + _NEAR * matches.near[places]
    score += _STRETCH * matches.of_stretches[view.stretches[at]]
    score += _NAMED * view.named[view.speakers[at]] + _QUESTION * view.questions[at]
    return _best(at, -score, view.kinds, limits)


def best_by_meaning(view: View, vector: Floats, limits: dict[int, int], *, quick: bool = False) -> Positions:
    """Return the positions of the documents of each kind whose vectors point most nearly the same way."""
    asked, newest = codes_of(vector.reshape(1, -1))[0], -SEARCH_QUICK_VECTORS_MAX if quick else None
    chosen = [_nearest(view, asked, view.coded[kind], newest, limit) for kind, limit in limits.items()]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *chosen]))


def _nearest(
    view: View, asked: NDArray[np.uint64], coded: tuple[Positions, Positions], newest: int | None, limit: int
) -> Positions:  # fmt: skip
    owners, rows = (each[newest:] for each in coded)
    distance = np.empty(len(rows), dtype=np.uint16)
    for first in range(0, len(rows), _CODES_AT_ONCE):
        # In pieces that the processor's cache holds; `take` is several times as fast as an index.
        differing = np.bitwise_count(view.codes.take(rows[first : first + _CODES_AT_ONCE], axis=0) ^ asked)
        # Column by column: a sum along a short axis takes several times as long.
        part = distance[first : first + _CODES_AT_ONCE]
        part[:] = differing[:, 0]
        for column in range(1, differing.shape[1]):
            part += differing[:, column]
    if len(rows) > limit:
        # Few distances are possible, so counting them is faster than sorting: all up to the one that makes enough.
        enough = np.searchsorted(np.cumsum(np.bincount(distance)), limit)
        near = np.flatnonzero(distance <= enough)
        owners = owners[near[np.argsort(distance[near], kind="stable")[:limit]]]
    return owners


def _best(positions: Positions, worst: NDArray[Any], kinds: NDArray[np.int8], limits: dict[int, int]) -> Positions:
    chosen: list[Positions] = [np.zeros(0, dtype=np.int32)]
    of = kinds[positions]
    for kind, limit in limits.items():
        own = np.flatnonzero(of == kind)
        if len(own) > limit:
            own = own[np.argpartition(worst[own], limit)[:limit]]
        chosen.append(positions[own])
    return np.unique(np.concatenate(chosen)).astype(np.int32)


def candidate_limits(query: SearchQuery, words: int, settings: SearchSettings) -> dict[int, int]:
    """Return how many candidates of each kind are looked at closely; of one word, as many as its own setting says."""
    window = settings.single_token_window_max if words == 1 else settings.source_topk
    return {KINDS.index(kind): max(limit, window) for kind, limit in query.limits().items() if limit}


class Candidate(NamedTuple):
    """A document that was read from the store, and its position."""

    at: int
    document: Stored


def hits(
    view: View, matches: Matches, candidates: list[Candidate], similar: dict[int, float], limits: dict[int, int]
) -> list[Hit]:  # fmt: skip
    """Return the best candidates of each kind with their scores, best first; `similar` are meanings by number."""
    at = np.array([one.at for one in candidates], dtype=np.int32)
    missed = _shares(matches, [one.document.terms if matches.common else "" for one in candidates], matches.common)
    labels = _shares(matches, [one.document.label for one in candidates], matches.weights.by_word)
    meaning, before = _similarities(view, at, similar)
    places = view.places[at]
    alone = matches.near_alone[places] + missed / (1 + _SATURATION)
    own = matches.own[places] + missed / (1 + _SATURATION)
    around = matches.near[places] - matches.near_alone[places]
    parts = np.stack([
        _OWN * own + _NEAR * alone + _QUESTION * view.questions[at],
        _MEANING * meaning + _MEANING_BEFORE * before,
        _NOTE * (view.kinds[at] == _NOTE_KIND),
        _NEAR * around + _STRETCH * matches.of_stretches[view.stretches[at]],
        _LABEL * labels + _NAMED * view.named[view.speakers[at]],
    ]) / _FULL  # fmt: skip
    scores = np.clip(parts.sum(axis=0), 0, 1)
    speaks_for_it = (matches.near[places] > 0) | (missed > 0) | (meaning >= _MEANING_MIN)
    ages = np.array([one.document.at for one in candidates])
    # Of equal ones the newest, as far as anybody can see a difference.
    order = [n for n in np.lexsort((-ages, -np.round(scores, 4))).tolist() if speaks_for_it[n]]
    kinds = view.kinds[at]
    chosen = [n for kind, limit in limits.items() for n in [n for n in order if kinds[n] == kind][:limit]]
    return [_hit(candidates[n].document, scores[n], parts[:, n]) for n in chosen]


def _hit(document: Stored, score: float, parts: NDArray[Any]) -> Hit:
    words, meaning, note, session, label = (round(float(part), 4) for part in parts)
    reason = Reason(words=words, meaning=meaning, note=note, session=session, label=label)
    return Hit(kind=cast(DocumentKind, document.kind), id=document.id, score=round(float(score), 4), reason=reason)


def _shares(matches: Matches, texts: list[str], asked: Iterable[str]) -> Floats:
    """How much of the query those of the asked words say that are in each text."""
    weights = matches.weights
    found = (set(text.split()).intersection(asked) if text else () for text in texts)
    shares = [sum(weights.by_word[word] for word in words) / weights.total for words in found]
    return np.array(shares, dtype=np.float32)


def _similarities(view: View, at: Positions, similar: dict[int, float]) -> tuple[Floats, Floats]:
    """How near each document is to the query, and what was said before it."""
    numbers = view.numbers[at].tolist()
    previous = np.where(view.previous[at] >= 0, view.numbers[view.previous[at]], -1).tolist()
    own, before = ([similar.get(number, 0.0) for number in each] for each in (numbers, previous))
    return np.array(own, dtype=np.float32), np.array(before, dtype=np.float32)

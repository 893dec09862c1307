"""Ranking: one linear score over everything that words or meaning find, with the statistics of the scope.

Merging two lists by rank would let a weak ranker count as much as a strong one. Each part of this score has a weight
and a scale that are the same for every query, so scores can be compared.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.kernel import Access, limits
from carrel.kernel.settings import SearchSettings
from carrel.search import store
from carrel.search.account_index import View
from carrel.search.columns import Positions
from carrel.search.model import KEPT, KINDS, DocumentKind, Hit, HitReason, Scope, SearchQuery
from carrel.search.store import Stored
from carrel.search.vectors import Codes, Floats, codes_of
from carrel.storage import Tx

# How soon repetitions add nothing, and how much a long text is penalised.
_SATURATION, _LENGTH = 1.2, 0.3
# Documents up to two entries before or after count half. By the number of occurrences nearby: how much a word counts.
_SPAN = 2
_NEAR_BY_COUNT = np.array([n / (n + 2 * _SATURATION) for n in range(2 * _SPAN + 3)], dtype=np.float32)
_OWN, _NEAR, _SEGMENT = 0.2, 1.0, 0.8
_MEANING, _MEANING_BEFORE = 0.4, 0.15
_NAMED, _LABEL, _NOTE, _QUESTION = 0.15, 0.3, 0.15, -0.08
# About the score of a text that contains all words of a query and means the same.
_FULL = 1.25
# Unrelated texts have about this similarity; below it, a text without a common word is no hit.
_MEANING_MIN = 0.25
_NOTE_KIND = KINDS.index("note")
_CODES_AT_ONCE = 8_192
_TOPIC_BITS = 32


class Weights(Struct, frozen=True):
    """How much each word of a query counts in this scope, and all of them together."""

    by_word: dict[str, float]
    total: float


class Matches(Struct, frozen=True, kw_only=True):
    """What the words of a query find: documents that contain one, and their neighbours."""

    weights: Weights
    # Their positions; and for every document its row in the next two, 0 for all others.
    at: Positions
    rows: Positions
    # How much of the query the document itself covers; and how much together with its neighbours.
    said: Floats
    near: Floats
    # The same for whole segments of conversation on one topic.
    segments: "Segments"
    # Words that too many documents have; only the best of the others are checked for them.
    common: tuple[str, ...]


def match_words(
    tx: Tx, access: Access, view: View, scope: Scope, words: tuple[str, ...], *, quick: bool = False
) -> Matches:  # fmt: skip
    """Look up every word in the scope and add up how much each counts for each document.

    For very common words, only the newest documents and all topics, tasks and notes with the word are considered; if a
    query has no other words, also everything that has all of them.
    """
    in_all = limits.SEARCH_QUICK_MATCHES_MAX if quick else limits.SEARCH_MATCHES_MAX
    per_word = max(limits.SEARCH_MATCHES_PER_WORD_MIN, in_all // max(1, len(words)))
    limit = min(limits.SEARCH_MATCHES_PER_WORD_MAX, per_word)
    found = _positions(tx, access, view, scope, words, limit)
    common = tuple(word for word, positions in found.items() if len(positions) >= limit)
    kept = {word: _in_scope(view, store.matching(tx, access, scope, KEPT, word, limit=limit)) for word in common}
    if words and len(common) == len(words):
        common = ()
        together = _in_scope(view, store.matching(tx, access, scope, *words, limit=limit))
        found = {word: _union(newest, kept[word], together) for word, newest in found.items()}
    weights = {word: _weight(len(positions), view.count) for word, positions in found.items()}
    total = sum(weights.values()) or 1.0
    telling = {word: positions for word, positions in found.items() if len(positions) and word not in common}
    sums = _Sums(view, [[positions, *_beside(view, positions)] for positions in telling.values()])
    for at, word in enumerate(telling):
        sums.add(at, weights[word] / total, total)
    return Matches(
        weights=Weights(weights, total),
        at=_union(sums.at, *(kept[word] for word in common)),
        rows=sums.rows,
        said=sums.said,
        near=sums.near,
        segments=sums.segments(),
        common=common,
    )


def _positions(
    tx: Tx, access: Access, view: View, scope: Scope, words: tuple[str, ...], limit: int
) -> dict[str, Positions]:  # fmt: skip
    """The positions of the newest documents in scope that have a word, for each of the words."""
    found: dict[str, Positions] = {}
    if 2 * view.count >= len(view.numbers):
        # Most documents are in scope: scanning all of them is faster than intersecting two long lists.
        enough = limit * len(view.numbers) // view.count + limit // 4
        for word, numbers in store.matching_each(tx, access, None, words, limit=enough).items():
            positions = _in_scope(view, numbers)
            if len(positions) >= limit or len(numbers) < enough:
                found[word] = positions[:limit]
    rest = [word for word in words if word not in found]
    in_scope = store.matching_each(tx, access, scope, rest, limit=limit)
    found |= {word: _in_scope(view, numbers) for word, numbers in in_scope.items()}
    return {word: found[word] for word in words}


def _union(*positions: Positions) -> Positions:
    """All of the positions, each once."""
    return np.unique(np.concatenate(positions)).astype(np.int32)


def _in_scope(view: View, numbers: NDArray[np.int64]) -> Positions:
    """The positions of those documents that are in scope, in the same order."""
    at = np.minimum(np.searchsorted(view.numbers, numbers), len(view.numbers) - 1)
    found: Positions = at[(view.numbers[at] == numbers) & view.in_scope[at]].astype(np.int32)
    return found


def _weight(having: int, count: int) -> float:
    return math.log(1 + max(0, count - having + 0.5) / (having + 0.5))


def _beside(view: View, positions: Positions) -> list[Positions]:
    """The positions in scope before and after those in their sessions and topics, a list for each distance."""
    found = []
    for links in (view.previous, view.following):
        beside, of = positions, positions
        for _ in range(_SPAN):
            beside = links[beside]
            beside, of = beside[beside >= 0], of[beside >= 0]
            found.append(beside[view.in_scope[beside] & (view.topics[beside] == view.topics[of])])
    return found


class _Sums:
    """The sums over the words of a query, for the documents that the words find."""

    def __init__(self, view: View, found: list[list[Positions]]) -> None:
        """Take for each word the documents that have it, and their neighbours."""
        self._view = view
        self._found = found
        several = np.concatenate([np.zeros(0, dtype=np.int32), *(each for lists in found for each in lists)])
        self.rows = np.zeros(len(view.numbers), dtype=np.int32)
        # For a position that occurs several times, the last one stays.
        order = np.arange(1, len(several) + 1, dtype=np.int32)
        self.rows[several] = order
        self.at: Positions = several[self.rows[several] == order]
        self.rows[self.at] = order[: len(self.at)]
        self.said, self.near = np.zeros((2, len(self.at) + 1), dtype=np.float32)
        # How often a word is at a document or beside it: twice for the document itself, and once for each neighbour.
        self._counts = np.zeros(len(self.at) + 1, dtype=np.int8)
        # For each word: the segments that have it, and what it counts there.
        self._in_segments: list[tuple[NDArray[np.int64], Floats]] = []
        self._segments = max(1, int(np.count_nonzero(view.said)))
        self._segment_length = float(view.said.sum()) / self._segments

    def add(self, word: int, share: float, total: float) -> None:
        view, positions = self._view, self._found[word][0]
        own, *beside = (self.rows[each] for each in self._found[word])
        self.said[own] += share
        self._counts[own] = 2
        for each in beside:
            self._counts[each] += 1
        touched = np.concatenate([own, *beside])
        # A row may occur several times; the same value is written each time.
        self.near[touched] = self.near[touched] + share * _NEAR_BY_COUNT[self._counts[touched]]
        self._counts[touched] = 0
        segments, having = np.unique(_segment_keys(view, positions), return_counts=True)
        weight = _weight(len(segments), self._segments) / total
        norm = _norm(view.said[segments >> _TOPIC_BITS], self._segment_length)
        self._in_segments.append((segments, (weight * having / (having + norm)).astype(np.float32)))

    def segments(self) -> "Segments":
        """Return what the words together count in each segment."""
        none = np.zeros(0, dtype=np.int64)
        keys, of = np.unique(np.concatenate([none, *(keys for keys, _ in self._in_segments)]), return_inverse=True)
        counted = np.concatenate([none.astype(np.float32), *(counted for _, counted in self._in_segments)])
        return Segments(keys, np.bincount(of, weights=counted, minlength=len(keys)).astype(np.float32))


class Segments(Struct, frozen=True):
    """How much of a query each segment of conversation on one topic covers.

    A session moves on to other subjects: what was said on one topic says nothing about a line on another.
    """

    keys: NDArray[np.int64]
    said: Floats

    def at(self, view: View, positions: Positions) -> Floats:
        """Return the values for the segments of these documents."""
        wanted = _segment_keys(view, positions)
        if not len(self.keys):
            return np.zeros(len(positions), dtype=np.float32)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        said: Floats = np.where(self.keys[found] == wanted, self.said[found], np.float32(0))
        return said


def _segment_keys(view: View, positions: Positions) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = view.segments[positions].astype(np.int64) << _TOPIC_BITS | view.topics[positions]
    return keys


def _norm(lengths: NDArray[np.generic], mean: float) -> Floats:
    relative = np.asarray(lengths, dtype=np.float32) / max(mean, 1.0)
    norm: Floats = (_SATURATION * (1 - _LENGTH + _LENGTH * relative)).astype(np.float32)
    return norm


def best_by_words(view: View, matches: Matches, most: dict[int, int]) -> Positions:
    """Return the positions of the best documents of each kind, judged by words and neighbours."""
    at = matches.at
    score = _OWN * _own(view, matches, at) + _NEAR * matches.near[matches.rows[at]]
    score += _SEGMENT * matches.segments.at(view, at)
    score += _NAMED * view.named[view.speakers[at]] + _QUESTION * view.questions[at]
    return _best(at, -score, view.kinds, most)


def _own(view: View, matches: Matches, at: Positions) -> Floats:
    """How much of the query each document itself covers; less in a long text."""
    own: Floats = matches.said[matches.rows[at]] / (1 + _norm(view.lengths[at], view.length))
    return own


def best_by_meaning(view: View, vector: Floats, most: dict[int, int], *, quick: bool = False) -> Positions:
    """Return the positions of the documents of each kind whose vectors are most similar."""
    newest = -limits.SEARCH_QUICK_VECTORS_MAX if quick else None
    # Repeated for each comparison: numpy is slow with one short row against many.
    asked = np.tile(codes_of(vector.reshape(1, -1)), (_CODES_AT_ONCE, 1))
    chosen = [_nearest(view, asked, view.coded[kind], newest, limit) for kind, limit in most.items()]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *chosen]))


def _nearest(view: View, asked: Codes, coded: tuple[Positions, Positions], newest: int | None, limit: int) -> Positions:
    owners, rows = (each[newest:] for each in coded)
    distance = np.empty(len(rows), dtype=np.uint16)
    for first in range(0, len(rows), _CODES_AT_ONCE):
        # In pieces that fit the processor's cache; `take` is several times as fast as an index.
        part = distance[first : first + _CODES_AT_ONCE]
        codes = view.codes.take(rows[first : first + _CODES_AT_ONCE], axis=0)
        differing = np.bitwise_count(codes ^ asked[: len(part)])
        # Column by column: a sum along a short axis takes several times as long.
        part[:] = differing[:, 0]
        for column in range(1, differing.shape[1]):
            part += differing[:, column]
    if len(rows) > limit:
        # There are few possible distances, so counting them is faster than sorting; take all up to the one that fills
        # the limit.
        enough = np.searchsorted(np.cumsum(np.bincount(distance)), limit)
        near = np.flatnonzero(distance <= enough)
        owners = owners[near[np.argsort(distance[near], kind="stable")[:limit]]]
    return owners


def _best(positions: Positions, worst: NDArray[Any], kinds: NDArray[np.int8], most: dict[int, int]) -> Positions:
    chosen: list[Positions] = [np.zeros(0, dtype=np.int32)]
    of = kinds[positions]
    for kind, limit in most.items():
        own = np.flatnonzero(of == kind)
        if len(own) > limit:
            own = own[np.argpartition(worst[own], limit)[:limit]]
        chosen.append(positions[own])
    return np.unique(np.concatenate(chosen)).astype(np.int32)


def candidate_limits(query: SearchQuery, words: int, settings: SearchSettings) -> dict[int, int]:
    """Return how many candidates of each kind are examined closely; single-word queries have their own setting."""
    window = settings.single_token_window_max if words == 1 else settings.source_topk
    window = min(window, limits.SEARCH_QUICK_CANDIDATES) if query.quick else window
    return {KINDS.index(kind): max(limit, window) for kind, limit in query.limits().items() if limit}


class Candidate(NamedTuple):
    """A document that was read from the store, and its position."""

    at: int
    document: Stored


def hits(
    view: View, matches: Matches, candidates: list[Candidate], similar: dict[int, float], most: dict[int, int]
) -> list[Hit]:  # fmt: skip
    """Return the best candidates of each kind with their scores, best first; `similar` are vectors by number."""
    at = np.array([one.at for one in candidates], dtype=np.int32)
    missed = _shares(matches, [one.document.terms if matches.common else "" for one in candidates], matches.common)
    labels = _shares(matches, [one.document.label for one in candidates], matches.weights.by_word)
    meaning, before = _similarities(view, at, similar)
    near, said = matches.near[matches.rows[at]], matches.said[matches.rows[at]]
    own = _own(view, matches, at) + missed / (1 + _SATURATION)
    alone = (said + missed) / (1 + _SATURATION)
    around = near - said / (1 + _SATURATION)
    parts = np.stack([
        _OWN * own + _NEAR * alone + _QUESTION * view.questions[at],
        _MEANING * meaning + _MEANING_BEFORE * before,
        _NOTE * (view.kinds[at] == _NOTE_KIND),
        _NEAR * around + _SEGMENT * matches.segments.at(view, at),
        _LABEL * labels + _NAMED * view.named[view.speakers[at]],
    ]) / _FULL  # fmt: skip
    scores = np.clip(parts.sum(axis=0), 0, 1)
    speaks_for_it = (near > 0) | (missed > 0) | (meaning >= _MEANING_MIN)
    ages = np.array([one.document.at for one in candidates])
    # The newest among those with equal scores, as far as anybody can see a difference.
    order = [n for n in np.lexsort((-ages, -np.round(scores, 4))).tolist() if speaks_for_it[n]]
    kinds = view.kinds[at]
    chosen = [n for kind, limit in most.items() for n in [n for n in order if kinds[n] == kind][:limit]]
    positions = view.positions[at]
    return [_hit(candidates[n].document, scores[n], parts[:, n], positions[n]) for n in chosen]


def _hit(document: Stored, score: float, parts: NDArray[Any], position: int) -> Hit:
    words, meaning, note, session, label = (round(float(part), 4) for part in parts)
    return Hit(
        kind=cast(DocumentKind, document.kind),
        id=document.id,
        score=round(float(score), 4),
        reason=HitReason(words=words, meaning=meaning, note=note, session=session, label=label),
        position=int(position),
    )


def _shares(matches: Matches, texts: list[str], asked: Iterable[str]) -> Floats:
    """How much of the query is covered by the words found in each text."""
    weights = matches.weights
    found = (set(text.split()).intersection(asked) if text else () for text in texts)
    shares = [sum(weights.by_word[word] for word in words) / weights.total for words in found]
    return np.array(shares, dtype=np.float32)


def _similarities(view: View, at: Positions, similar: dict[int, float]) -> tuple[Floats, Floats]:
    """How similar each document, and the messages before it, are to the query."""
    numbers = view.numbers[at].tolist()
    previous = np.where(view.previous[at] >= 0, view.numbers[view.previous[at]], -1).tolist()
    own, before = ([similar.get(number, 0.0) for number in each] for each in (numbers, previous))
    return np.array(own, dtype=np.float32), np.array(before, dtype=np.float32)

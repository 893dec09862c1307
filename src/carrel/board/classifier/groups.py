"""Groups: which messages of a space are about the same thing. Pure.

Each chat is cut where the next messages are no more similar to the previous ones than any two messages are. Pieces
that are as similar to each other as their own messages are become one group. Then every message moves to the most
similar group, unless the group of the message before it is about as similar. All measures are relative to the given
messages: how similar two of them are by chance, in any language, and how similar the messages of one piece are.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.board.classifier import thresholds
from carrel.kernel.limits import CLASSIFIER_RECENT_SAID_MAX
from carrel.search import Floats

_NEVER = -9.0

Piece = list[int]
Sums = NDArray[np.float64]


class Message(Struct, frozen=True, kw_only=True):
    """A person's message: its chat, its distinctive words, and whether it came after a pause.

    `common` is the share of known common words in it, which `words` leaves out. `settled` names the group that it
    must stay in; None if it may go to any group.
    """

    chat: str
    words: Iterable[str]
    common: float = 1.0
    is_later: bool = False
    settled: str | None = None


def group_messages(messages: Sequence[Message], meanings: Floats | None) -> list[list[int]]:
    """Return the groups as positions of their messages; `meanings` has a unit vector for each message."""
    if not messages:
        return []
    meanings = np.zeros((len(messages), 1), np.float32) if meanings is None else meanings
    pieces = [*_settled(messages), *_cut(messages, meanings)]
    groups = _merged(messages, _features(messages, meanings, pieces), pieces, thresholds.SAME_PIECES)
    for _ in range(thresholds.GROUP_ROUNDS):
        groups = _assigned(messages, _features(messages, meanings, groups), groups)
    groups = _merged(messages, _features(messages, meanings, groups), groups, thresholds.SAME_GROUPS)
    return _assigned(messages, _features(messages, meanings, groups), groups)


def _settled(messages: Sequence[Message]) -> list[Piece]:
    """A piece for each group that messages must stay in."""
    found: dict[str, Piece] = {}
    for at, message in enumerate(messages):
        if message.settled is not None:
            found.setdefault(message.settled, []).append(at)
    return list(found.values())


def _chats(messages: Sequence[Message]) -> Iterator[list[int]]:
    """The messages of each chat that may go to any group."""
    chats = defaultdict[str, list[int]](list)
    for at, message in enumerate(messages):
        if message.settled is None:
            chats[message.chat].append(at)
    return iter(chats.values())


def _cut(messages: Sequence[Message], meanings: Floats) -> Iterator[Piece]:
    """The pieces of all chats, cut where the subject changes."""
    having = Counter(word for message in messages for word in message.words)
    weights = {word: math.log(1 + len(messages) / count) for word, count in having.items()}
    for chat in _chats(messages):
        piece = [chat[0]]
        for number, at in enumerate(chat[1:], 1):
            coming = chat[number : number + thresholds.GROUP_COMING]
            recent = piece[-CLASSIFIER_RECENT_SAID_MAX:]
            if _continuity(messages, meanings, weights, recent, coming) < thresholds.GROUP_CUT:
                yield piece
                piece = []
            piece.append(at)
        yield piece


def _continuity(
    messages: Sequence[Message], meanings: Floats, weights: Mapping[str, float], before: Piece, coming: Piece
) -> float:  # fmt: skip
    """How much more similar a message is to the previous ones than by chance; the following ones count too.

    A message that is similar to the following ones begins a new subject rather than ending the last one.
    """
    said = _words(messages, before)
    repeated = sum(_share(_words(messages, some), said, weights) for some in (coming[:1], coming))
    middle, ahead, behind = (_unit(meanings[some].sum(axis=0)) for some in (before, coming, coming[1:]))
    first = meanings[coming[0]]
    meaning = float(middle @ (first + ahead)) / 2 - thresholds.GROUP_AHEAD * float(first @ behind)
    pause = thresholds.GROUP_PAUSE if messages[coming[0]].is_later else 0.0
    return meaning / thresholds.GROUP_CHANCE + thresholds.GROUP_REPEATED * repeated - pause


def _words(messages: Sequence[Message], some: Piece) -> set[str]:
    return {word for at in some for word in messages[at].words}


def _share(words: set[str], said: set[str], weights: Mapping[str, float]) -> float:
    """The weighted share of the words that were said before."""
    total = sum(weights[word] for word in sorted(words))
    return sum(weights[word] for word in sorted(words & said)) / total if total else 0.0


def _features(messages: Sequence[Message], meanings: Floats, pieces: Sequence[Piece]) -> Floats:
    """A unit vector for each message, from its meaning and its words; rare words count more.

    Words that occur in every conversation of a language are in most of its pieces, so they count little.
    """
    having = Counter(word for piece in pieces for word in _words(messages, piece))
    said = Counter(word for message in messages for word in message.words)
    shared = {word: at for at, word in enumerate(word for word, count in said.items() if count > 1)}
    words: Floats = np.zeros((len(messages), len(shared)), np.float32)
    for at, message in enumerate(messages):
        weights = {word: math.log(1 + len(pieces) / having[word]) ** thresholds.GROUP_RARITY for word in message.words}
        length = math.hypot(*weights.values()) or 1.0
        for word in weights.keys() & shared.keys():
            words[at, shared[word]] = weights[word] / length
    return np.hstack([words, math.sqrt(thresholds.GROUP_MEANING) * meanings]).astype(np.float32)


class _Similarities:
    """How similar the messages of pieces are to one another, as averages over pairs of messages."""

    def __init__(self, messages: Sequence[Message], features: Floats, pieces: Sequence[Piece]) -> None:
        self.sums = np.array([features[piece].sum(axis=0) for piece in pieces], np.float64)
        self.sizes = np.array([len(piece) for piece in pieces], np.float64)
        self.alone = np.array([float((features[piece] ** 2).sum()) for piece in pieces])
        self.dots = self.sums @ self.sums.T
        pairs, within = self._within()
        known = pairs > 0
        typical = float(np.median(within[known] / pairs[known])) if known.any() else thresholds.GROUP_MEANING
        everywhere = self._between(np.full(len(pieces), fill_value=True))
        # Even if the messages within most pieces are hardly similar, messages must be more similar than by chance.
        self.typical = max(typical, everywhere + thresholds.GROUP_CHANCE)
        self.least = self.typical - everywhere
        # In a language without a list, common words make unrelated messages similar.
        known_words = [sum(messages[at].common for at in piece) for piece in pieces]
        foreign = np.array(known_words) < thresholds.GROUP_KNOWN_LANGUAGE * self.sizes
        self.chance = np.where(foreign, max(everywhere, self._between(foreign)), everywhere)

    def _between(self, some: NDArray[np.bool_]) -> float:
        """The average similarity of messages of different pieces, among some of the pieces."""
        dots, sizes = self.dots[np.ix_(some, some)], self.sizes[some]
        pairs = float(sizes.sum() ** 2 - (sizes**2).sum()) / 2
        return float(dots.sum() - np.trace(dots)) / 2 / (pairs + thresholds.GROUP_PAIRS_APART)

    def _within(self) -> tuple[Sums, Sums]:
        within: Sums = (np.diag(self.dots) - self.alone) / 2
        return self.sizes * (self.sizes - 1) / 2, within

    def cohesion(self) -> Sums:
        """How much more similar the messages of each piece are than by chance, with a lower limit.

        Without it, a piece about many things would be similar to everything.
        """
        pairs, within = self._within()
        known = thresholds.GROUP_PAIRS_KNOWN
        return np.maximum((within + known * self.typical) / (pairs + known) - self.chance, self.least)

    def similarity(self, one: int | slice, cohesion: Sums) -> Sums:
        """The similarity of one piece, or each, to all others: 1 if as high as that of the messages within them."""
        chance = np.minimum.outer(self.chance[one], self.chance)
        means = self.dots[one] / np.multiply.outer(self.sizes[one], self.sizes)
        found: Sums = (means - chance) / np.sqrt(np.multiply.outer(cohesion[one], cohesion))
        return found

    def merge(self, one: int, other: int) -> None:
        """Merge another piece into one."""
        weights = self.sizes[[one, other]]
        self.chance[one] = np.average(self.chance[[one, other]], weights=weights)
        self.dots[one] += self.dots[other]
        self.dots[:, one] += self.dots[:, other]
        for each in (self.sizes, self.alone):
            each[one] += each[other]


def _merged(messages: Sequence[Message], features: Floats, pieces: Sequence[Piece], least: float) -> list[Piece]:
    """The pieces after merging those about the same thing, the most similar ones first."""
    sums = _Similarities(messages, features, pieces)
    groups = {at: list(piece) for at, piece in enumerate(pieces)}
    settled = np.array([any(messages[at].settled is not None for at in piece) for piece in pieces])
    similarity = sums.similarity(slice(None), sums.cohesion())
    similarity[np.outer(settled, settled)] = _NEVER
    np.fill_diagonal(similarity, _NEVER)
    while len(groups) > 1:
        found = divmod(int(np.argmax(similarity)), len(pieces))
        one, other = sorted(found, key=lambda at: (not settled[at], at))
        if similarity[one, other] < least:
            break
        sums.merge(one, other)
        groups[one] += groups.pop(other)
        row = sums.similarity(one, sums.cohesion())
        row[(similarity[one] == _NEVER) | (similarity[other] == _NEVER)] = _NEVER
        similarity[other], similarity[:, other] = _NEVER, _NEVER
        similarity[one], similarity[:, one] = row, row
    return list(groups.values())


def _assigned(messages: Sequence[Message], features: Floats, groups: Sequence[Piece]) -> list[Piece]:
    """The groups after each message has moved to the most similar one, chat by chat; settled messages stay."""
    fits = _fits(messages, features, groups)
    found: list[Piece] = [[at for at in group if messages[at].settled is not None] for group in groups]
    for chat in _chats(messages):
        for at, number in zip(chat, _best_path(messages, fits, chat), strict=True):
            found[number].append(at)
    return [sorted(group) for group in found if group]


def _fits(messages: Sequence[Message], features: Floats, groups: Sequence[Piece]) -> Floats:
    """How well each message fits each group: 1 if it is as similar to the others there as they are to each other."""
    sums = _Similarities(messages, features, groups)
    dots, counts = features @ sums.sums.T, np.tile(sums.sizes, (len(messages), 1))
    for number, group in enumerate(groups):
        dots[group, number] -= (features[group] ** 2).sum(axis=1)
        counts[group, number] -= 1
    fits = (dots / np.maximum(counts, 1) - sums.chance) / sums.cohesion()
    # Little is known about a small group; and a message that is alone needs a reason to move.
    among = np.clip(fits * counts / (counts + 1), thresholds.GROUP_LEAST, thresholds.GROUP_MOST)
    return np.where(counts > 0, among, thresholds.GROUP_ALONE)


def _best_path(messages: Sequence[Message], fits: Floats, chat: Sequence[int]) -> list[int]:
    """The best sequence of groups for the messages of a chat, where each change of group has a cost."""
    score, steps = fits[chat[0]].copy(), list[Floats]()
    stay = np.arange(len(score))
    for at in chat[1:]:
        best = int(np.argmax(score))
        later = thresholds.GROUP_LEAVING_LATER if messages[at].is_later else 1.0
        left = score[best] - thresholds.GROUP_LEAVING * later
        steps.append(np.where(score >= left, stay, best))
        score = np.maximum(score, left) + fits[at]
    path = [int(np.argmax(score))]
    for step in reversed(steps):
        path.append(int(step[path[-1]]))
    return path[::-1]


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return unit

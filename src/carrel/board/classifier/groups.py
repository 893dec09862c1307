"""Groups: which messages of a space are about the same. Pure.

A chat is cut where what is said next is no more like what was said before than any two messages are; the pieces that
are as like one another as they are within become one group; and each message then goes to the group that it is most
like, unless it is about as like the one before it. Every measure is relative to the messages at hand: how alike two
of them are by chance, also where their language is not known, and how alike those of one piece are.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.kernel.limits import CLASSIFIER_RECENT_SAID_MAX
from carrel.search import Floats

# How much meaning counts, where words count once.
_MEANING = 0.3
# By chance two texts are about so near in meaning; and the share of words that are repeated counts so many times that.
_CHANCE, _REPEATED = 0.1, 4.0
# So many messages ahead are looked at, and how near the next is to those behind it counts so much.
_COMING, _AHEAD = 3, 0.3
# A chat is cut where the next message is nearer by less than so many times chance; after a pause it has to be nearer.
_CUT, _PAUSE = 0.4, 1.0
# Two pieces are about the same when their messages are so much as alike as those of each of them; and two groups, of
# which more is known, with less.
_SAME_PIECES, _SAME_GROUPS = 0.45, 0.15
# A word counts by this power of how rare it is among groups: those of every conversation hardly, in any language.
_RARITY = 3
# How alike the messages of a piece are is known from so many pairs; until then it is as in other pieces.
_PAIRS_KNOWN = 6.0
# Two messages are alike by chance as those of different pieces are; with few pairs of them, hardly.
_PAIRS_APART = 100.0
# Messages with a smaller share of known common words are in a language that has no list of them.
_KNOWN_LANGUAGE = 0.25
# What leaving a group costs, in messages that are as like another as its own are; and how much less it costs after a
# pause.
_LEAVING, _LEAVING_LATER = 1.0, 0.5
_LEAST, _MOST, _ALONE = -0.5, 3.0, 0.3
# Messages go to groups so many times: with what they bring, it is clearer what a group is about, and which words set
# it apart.
_ROUNDS = 3
_NEVER = -9.0

Piece = list[int]
Sums = NDArray[np.float64]


class Message(Struct, frozen=True, kw_only=True):
    """What a person said: in which chat, by which words that say something, and whether a pause was before it.

    `common` is the share of known common words in it, which `words` leaves out. `settled` names the group that it
    stays in, whatever it says; None if it may go to any group.
    """

    chat: str
    words: Iterable[str]
    common: float = 1.0
    is_later: bool = False
    settled: str | None = None


def group_messages(messages: Sequence[Message], meanings: Floats | None) -> list[list[int]]:
    """Return the messages that belong together, by their positions; `meanings` has a direction for each."""
    if not messages:
        return []
    near = np.zeros((len(messages), 1), np.float32) if meanings is None else meanings
    pieces = [*_settled(messages), *_cut(messages, near)]
    groups = _joined(messages, _traits(messages, near, pieces), pieces, _SAME_PIECES)
    for _ in range(_ROUNDS):
        groups = _assigned(messages, _traits(messages, near, groups), groups)
    groups = _joined(messages, _traits(messages, near, groups), groups, _SAME_GROUPS)
    return _assigned(messages, _traits(messages, near, groups), groups)


def _settled(messages: Sequence[Message]) -> list[Piece]:
    """One piece for all messages that stay in the same group."""
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


def _cut(messages: Sequence[Message], near: Floats) -> Iterator[Piece]:
    """The pieces of all chats, cut where something else begins."""
    having = Counter(word for message in messages for word in message.words)
    weights = {word: math.log(1 + len(messages) / count) for word, count in having.items()}
    for chat in _chats(messages):
        piece = [chat[0]]
        for number, at in enumerate(chat[1:], 1):
            coming = chat[number : number + _COMING]
            if _goes_on(messages, near, weights, piece[-CLASSIFIER_RECENT_SAID_MAX:], coming) < _CUT:
                yield piece
                piece = []
            piece.append(at)
        yield piece


def _goes_on(
    messages: Sequence[Message], near: Floats, weights: Mapping[str, float], before: Piece, coming: Piece
) -> float:  # fmt: skip
    """How much nearer a message is to what was said before it than by chance; what follows it tells that as well.

    Where it is near to what follows, it begins that rather than that it ends what was before.
    """
    said = _words(messages, before)
    repeated = sum(_share(_words(messages, some), said, weights) for some in (coming[:1], coming))
    middle, ahead, behind = (_unit(near[some].sum(axis=0)) for some in (before, coming, coming[1:]))
    first = near[coming[0]]
    meaning = float(middle @ (first + ahead)) / 2 - _AHEAD * float(first @ behind)
    return meaning / _CHANCE + _REPEATED * repeated - (_PAUSE if messages[coming[0]].is_later else 0.0)


def _words(messages: Sequence[Message], some: Piece) -> set[str]:
    return {word for at in some for word in messages[at].words}


def _share(words: set[str], said: set[str], weights: Mapping[str, float]) -> float:
    """How much of what some words say was said before."""
    total = sum(weights[word] for word in sorted(words))
    return sum(weights[word] for word in sorted(words & said)) / total if total else 0.0


def _traits(messages: Sequence[Message], near: Floats, pieces: Sequence[Piece]) -> Floats:
    """Each message as a direction, by its words, which count the more the fewer pieces have them, and its meaning.

    The words of every conversation of a language are in most pieces of it, and count for little in any language.
    """
    having = Counter(word for piece in pieces for word in {word for at in piece for word in messages[at].words})
    said = Counter(word for message in messages for word in message.words)
    shared = {word: at for at, word in enumerate(word for word, count in said.items() if count > 1)}
    words: Floats = np.zeros((len(messages), len(shared)), np.float32)
    for at, message in enumerate(messages):
        weights = {word: math.log(1 + len(pieces) / having[word]) ** _RARITY for word in message.words}
        length = math.hypot(*weights.values()) or 1.0
        for word in weights.keys() & shared.keys():
            words[at, shared[word]] = weights[word] / length
    return np.hstack([words, math.sqrt(_MEANING) * near]).astype(np.float32)


class _Sums:
    """How alike the messages of pieces are to one another, on average over pairs of messages."""

    def __init__(self, messages: Sequence[Message], traits: Floats, pieces: Sequence[Piece]) -> None:
        self.sums = np.array([traits[piece].sum(axis=0) for piece in pieces], np.float64)
        self.sizes = np.array([len(piece) for piece in pieces], np.float64)
        self.alone = np.array([float((traits[piece] ** 2).sum()) for piece in pieces])
        self.dots = self.sums @ self.sums.T
        pairs, within = self._within()
        known = pairs > 0
        usual = float(np.median(within[known] / pairs[known])) if known.any() else _MEANING
        everywhere = self._apart(np.full(len(pieces), fill_value=True))
        # Where the messages of most pieces are hardly alike, others that are hardly alike are not about the same.
        self.usual = max(usual, everywhere + _CHANCE)
        self.least = self.usual - everywhere
        foreign = np.array([_are_foreign(messages, piece) for piece in pieces])
        # In a language that has no list, common words make messages similar that have nothing to do with each other.
        self.chance = np.where(foreign, max(everywhere, self._apart(foreign)), everywhere)

    def _apart(self, some: NDArray[np.bool_]) -> float:
        """Return how alike the messages of different pieces are, among some of the pieces."""
        dots, sizes = self.dots[np.ix_(some, some)], self.sizes[some]
        pairs = float(sizes.sum() ** 2 - (sizes**2).sum()) / 2
        return float(dots.sum() - np.trace(dots)) / 2 / (pairs + _PAIRS_APART)

    def _within(self) -> tuple[Sums, Sums]:
        within: Sums = (np.diag(self.dots) - self.alone) / 2
        return self.sizes * (self.sizes - 1) / 2, within

    def cohesion(self) -> Sums:
        """How much more alike the messages of each piece are than by chance, but no less than is usual.

        What is about many things would otherwise be like everything.
        """
        pairs, within = self._within()
        found: Sums = (within + _PAIRS_KNOWN * self.usual) / (pairs + _PAIRS_KNOWN) - self.chance
        return np.maximum(found, self.least)

    def alike(self, one: int | slice, cohesion: Sums) -> Sums:
        """Return how alike one piece, or each of them, is to all others: 1 if as much as the messages within them."""
        chance = np.minimum.outer(self.chance[one], self.chance)
        means = self.dots[one] / np.multiply.outer(self.sizes[one], self.sizes)
        found: Sums = (means - chance) / np.sqrt(np.multiply.outer(cohesion[one], cohesion))
        return found

    def join(self, one: int, other: int) -> None:
        """Let one piece take up another."""
        weights = self.sizes[[one, other]]
        self.chance[one] = np.average(self.chance[[one, other]], weights=weights)
        self.dots[one] += self.dots[other]
        self.dots[:, one] += self.dots[:, other]
        for each in (self.sizes, self.alone):
            each[one] += each[other]


def _joined(messages: Sequence[Message], traits: Floats, pieces: Sequence[Piece], least: float) -> list[Piece]:
    """The pieces that are about the same as one, the likest joined first."""
    sums = _Sums(messages, traits, pieces)
    groups = {at: list(piece) for at, piece in enumerate(pieces)}
    settled = np.array([any(messages[at].settled is not None for at in piece) for piece in pieces])
    alike = sums.alike(slice(None), sums.cohesion())
    alike[np.outer(settled, settled)] = _NEVER
    np.fill_diagonal(alike, _NEVER)
    while len(groups) > 1:
        found = divmod(int(np.argmax(alike)), len(pieces))
        one, other = sorted(found, key=lambda at: (not settled[at], at))
        if alike[one, other] < least:
            break
        sums.join(one, other)
        groups[one] += groups.pop(other)
        row = sums.alike(one, sums.cohesion())
        row[(alike[one] == _NEVER) | (alike[other] == _NEVER)] = _NEVER
        alike[other], alike[:, other] = _NEVER, _NEVER
        alike[one], alike[:, one] = row, row
    return list(groups.values())


def _assigned(messages: Sequence[Message], traits: Floats, groups: Sequence[Piece]) -> list[Piece]:
    """Let each message go to the group that it is likest, chat by chat; what is settled stays."""
    fits = _fits(messages, traits, groups)
    found: list[Piece] = [[at for at in group if messages[at].settled is not None] for group in groups]
    for chat in _chats(messages):
        for at, number in zip(chat, _path(messages, fits, chat), strict=True):
            found[number].append(at)
    return [sorted(group) for group in found if group]


def _fits(messages: Sequence[Message], traits: Floats, groups: Sequence[Piece]) -> Floats:
    """How like each message is to the others of each group: 1 where it is as like them as they are to one another."""
    sums = _Sums(messages, traits, groups)
    dots, counts = traits @ sums.sums.T, np.tile(sums.sizes, (len(messages), 1))
    for number, group in enumerate(groups):
        dots[group, number] -= (traits[group] ** 2).sum(axis=1)
        counts[group, number] -= 1
    fits = (dots / np.maximum(counts, 1) - sums.chance) / sums.cohesion()
    # A group of few messages is not well known; and what is alone needs a reason to go elsewhere.
    return np.where(counts > 0, np.clip(fits * counts / (counts + 1), _LEAST, _MOST), _ALONE)


def _path(messages: Sequence[Message], fits: Floats, chat: Sequence[int]) -> list[int]:
    """The groups that the messages of a chat fit best in all, where leaving one has its cost."""
    score, steps = fits[chat[0]].copy(), list[Floats]()
    here = np.arange(len(score))
    for at in chat[1:]:
        best = int(np.argmax(score))
        left = score[best] - _LEAVING * (_LEAVING_LATER if messages[at].is_later else 1.0)
        steps.append(np.where(score >= left, here, best))
        score = np.maximum(score, left) + fits[at]
    path = [int(np.argmax(score))]
    for step in reversed(steps):
        path.append(int(step[path[-1]]))
    return path[::-1]


def _are_foreign(messages: Sequence[Message], piece: Piece) -> bool:
    """Return whether messages are in a language that has no list of common words."""
    return sum(messages[at].common for at in piece) < _KNOWN_LANGUAGE * len(piece)


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return unit

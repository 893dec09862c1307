"""Moves: which messages change topics so that the topics of a space match the groups. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

from msgspec import Struct

from carrel.board.classifier.groups import Message
from carrel.board.classifier.phrases import opens_new_topic
from carrel.board.profiles import common_share, distinctive_words
from carrel.kernel import MS_PER_SECOND
from carrel.kernel.limits import CLASSIFIER_FRAGMENT_LINES_MAX, CLASSIFIER_PAUSE_SECONDS


class TopicEntry(Struct, frozen=True):
    """An entry of a topic: its text, whether a person wrote it, and whether its location was given."""

    id: str
    topic_id: str
    chat: str
    at: int
    text: str
    is_by_person: bool
    is_given: bool


class Unit(Struct, frozen=True):
    """A message with content of its own, and the entries after it in its chat, which move with it."""

    entry: TopicEntry
    entry_ids: tuple[str, ...]
    is_later: bool

    def telling(self, social_words: AbstractSet[str]) -> Mapping[str, str]:
        """Return its distinctive words without social ones, each with the form it has in the message."""
        said = distinctive_words(self.entry.text)
        return {word: form for word, form in said.items() if word not in social_words}

    def message(self, is_settled: bool, social_words: AbstractSet[str]) -> Message:
        """Return it as input for grouping; a settled message stays in its topic."""
        words = tuple(self.telling(social_words))
        settled = self.entry.topic_id if is_settled or self.entry.is_given else None
        common = common_share(self.entry.text)
        return Message(chat=self.entry.chat, words=words, common=common, is_later=self.is_later, settled=settled)


class Move(Struct, frozen=True):
    """Units of one topic that move to another, or to a new one if `to` is None; `is_all` if nothing is left there."""

    topic_id: str
    to: str | None
    units: tuple[Unit, ...]
    is_all: bool


def units_of(entries: Sequence[TopicEntry]) -> list[Unit]:
    """Return the messages of all chats that have content of their own, in order; entries come by chat and number."""
    found: list[Unit] = []
    for _, chat in groupby(entries, key=lambda entry: entry.chat):
        found += _units(list(chat))
    return found


def _units(chat: Sequence[TopicEntry]) -> Iterator[Unit]:
    opening, ids, before = None, list[str](), 0
    for entry in chat:
        if entry.is_by_person and distinctive_words(entry.text):
            if opening is not None:
                yield Unit(opening, tuple(ids), _is_later(opening, before))
                before = opening.at
            opening, ids = entry, []
        if opening is not None and entry.topic_id == opening.topic_id:
            ids.append(entry.id)
    if opening is not None:
        yield Unit(opening, tuple(ids), _is_later(opening, before))


def _is_later(entry: TopicEntry, before: int) -> bool:
    return entry.at - before > CLASSIFIER_PAUSE_SECONDS * MS_PER_SECOND or opens_new_topic(entry.text)


def moves_to(groups: Sequence[Sequence[Unit]], settled: Mapping[int, str]) -> list[Move]:
    """Return what has to move so that each group is one topic; `settled` has the fixed topics of groups.

    A group gets the topic with most of its messages. If no topic is left for a small group, it stays where it is.
    """
    topics = _topics_of(groups, settled)
    going: dict[tuple[str, int], list[Unit]] = {}
    left = Counter(unit.entry.topic_id for group in groups for unit in group)
    for number, group in enumerate(groups):
        if number not in topics and len(group) <= CLASSIFIER_FRAGMENT_LINES_MAX:
            continue
        for unit in group:
            if unit.entry.topic_id != topics.get(number):
                going.setdefault((unit.entry.topic_id, number), []).append(unit)
    # The smaller parts of a topic leave it first, so that the rest can be merged as a whole.
    moves = list[Move]()
    for (topic_id, number), units in sorted(going.items(), key=lambda each: (len(each[1]), each[0])):
        left[topic_id] -= len(units)
        is_all = not left[topic_id] and number in topics
        moves.append(Move(topic_id, topics.get(number), tuple(units), is_all))
    return moves


def _topics_of(groups: Sequence[Sequence[Unit]], settled: Mapping[int, str]) -> dict[int, str]:
    """The topic of each group, while there are topics left."""
    topics, taken = dict(settled), set(settled.values())
    shares = Counter((number, unit.entry.topic_id) for number, group in enumerate(groups) for unit in group)
    for (number, topic_id), _ in sorted(shares.items(), key=lambda each: (-each[1], each[0])):
        if number not in topics and topic_id not in taken:
            topics[number] = topic_id
            taken.add(topic_id)
    return topics

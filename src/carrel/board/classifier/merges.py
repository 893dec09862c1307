"""Grouping the messages of a space anew as it grows: what is about the same becomes one topic, named by its words.

A topic that is merged into another is an event, the other remembers it, and a person can take it back; a message that
goes to another topic is one that changes. Nothing that a person has named or sorted is renamed, moved or merged, and
nothing leaves its space.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from msgspec import structs

from carrel.board.classifier import merge_store, profile_store
from carrel.board.classifier.asides import asides_of
from carrel.board.classifier.cases import Case
from carrel.board.classifier.groups import group_messages
from carrel.board.classifier.moves import Move, Unit, moves_to, units_of
from carrel.board.classifier.rules import SMALL_TALK
from carrel.board.classifier.scores import Candidate
from carrel.board.classifier.topic_merges import merge_topics, move_messages
from carrel.board.profiles import Profile, Weights, name_by_words
from carrel.kernel import Access
from carrel.kernel.limits import (
    CLASSIFIER_CANDIDATES_MAX,
    CLASSIFIER_FRAGMENT_LINES_MAX,
    CLASSIFIER_GROUPED_AFTER_MAX,
    CLASSIFIER_GROUPED_ENTRIES_MAX,
    CLASSIFIER_GROUPED_SHARE,
)
from carrel.kernel.settings import DigestsSettings
from carrel.search import Nearness
from carrel.storage import Database, Tx
from carrel.topics import TopicChange, change_topic

# A name lasts until a topic has so many times the messages it was named after, or some of them go elsewhere.
_RENAMED_AT = 2


class Merges:
    """What a turn of sorting has to look at again."""

    def __init__(self, db: Database, access: Access, nearness: Nearness, settings: DigestsSettings) -> None:
        self._db, self._access, self._nearness, self._settings = db, access, nearness, settings
        self._sorted = Counter[str]()

    @property
    def waiting(self) -> int:
        """How much was sorted since topics were last looked at."""
        return self._sorted.total()

    def note(self, case: Case) -> None:
        """Note that something was sorted by what it says."""
        self._sorted[case.space_id] += 1

    async def merge(self) -> None:
        """Group and name the topics of late, space by space."""
        for space_id, count in sorted(self._sorted.items()):
            await _Space(self._db, self._access, self._nearness, self._settings, space_id).group(count)
        self._sorted.clear()


class _Space:
    """The topics of one space while its messages are grouped."""

    def __init__(
        self, db: Database, access: Access, nearness: Nearness, settings: DigestsSettings, space_id: str
    ) -> None:  # fmt: skip
        self._db, self._access, self._nearness, self._space_id = db, access, nearness, space_id
        self._settings = settings

    async def group(self, count: int) -> None:
        """Group the messages of the space, if so many new ones are reason enough, and name what has changed."""
        topics, units = await self._db.long_read(lambda tx: self._read(tx, count))
        changed = set[str]()
        asides = asides_of([unit.entry.text for unit in units])
        for move in await self._moves(topics, units, asides):
            changed |= await self._move(move)
        for topic_id in sorted(changed):
            await self._db.write(partial(merge_store.learn_again, access=self._access, topic_id=topic_id))
        if units or changed:
            await self._name(changed, asides)

    def _read(self, tx: Tx, count: int) -> tuple[dict[str, Candidate], list[Unit]]:
        """The topics that take part, and their messages; none where it is too soon to group them again."""
        rows = profile_store.topics_of_space(tx, self._access, self._space_id, limit=CLASSIFIER_CANDIDATES_MAX)
        topics = {row.id: row for row in rows if is_groupable(row)}
        if not _is_due(sum((topic.profile or Profile()).lines for topic in topics.values()), count):
            return topics, []
        entries = merge_store.said_in_topics(tx, self._access, sorted(topics), limit=CLASSIFIER_GROUPED_ENTRIES_MAX)
        return topics, units_of(entries)

    async def _moves(
        self, topics: Mapping[str, Candidate], units: Sequence[Unit], asides: AbstractSet[str]
    ) -> list[Move]:  # fmt: skip
        gists = [" ".join(unit.telling(asides).values()) for unit in units]
        meanings = await self._nearness.directions(gists) if units else None
        messages = [unit.message(not topics[unit.entry.topic_id].is_loose, asides) for unit in units]
        # In a thread: with thousands of messages it takes as long as many turns.
        found = await asyncio.to_thread(group_messages, messages, meanings)
        settled = {
            number: message
            for number, group in enumerate(found)
            for message in [next((messages[at].settled for at in group if messages[at].settled), None)]
            if message is not None
        }
        return moves_to([[units[at] for at in group] for group in found], settled)

    async def _move(self, move: Move) -> set[str]:
        """Let messages go to another topic; return the topics that have changed."""
        if move.is_all and move.to is not None:
            work = partial(merge_topics, topic_id=move.to, other_id=move.topic_id, settings=self._settings)
            return {move.to} if await self._db.write(partial(work, access=self._access)) else set()
        moved = partial(move_messages, move=move, space_id=self._space_id, settings=self._settings)
        return await self._db.write(partial(moved, access=self._access))

    async def _name(self, changed: set[str], asides: AbstractSet[str]) -> None:
        """Name topics by the words that set them apart: those that have changed, and those that have grown much."""
        read = partial(profile_store.topics_of_space, access=self._access, space_id=self._space_id)
        rows = await self._db.long_read(partial(read, limit=CLASSIFIER_CANDIDATES_MAX))
        weights = Weights([(row.profile or Profile()).words for row in rows])
        for topic in sorted(rows, key=lambda row: row.id):
            profile = topic.profile or Profile()
            is_grown = profile.lines >= _RENAMED_AT * profile.named
            if topic.is_loose and is_groupable(topic) and not is_fragment(topic) and (is_grown or topic.id in changed):
                name = name_by_words(profile, weights, asides)
                if name is not None:
                    await self._db.write(partial(_rename, access=self._access, topic_id=topic.id, name=name))


def is_groupable(topic: Candidate) -> bool:
    """Return whether a topic takes part in grouping: small talk, what is put aside and what other spaces see do not."""
    return topic.is_plain and not topic.is_snoozed and topic.name != SMALL_TALK


def is_fragment(topic: Candidate) -> bool:
    """Return whether a topic has too few messages to have a name of its words."""
    return (topic.profile or Profile()).lines <= CLASSIFIER_FRAGMENT_LINES_MAX


def _is_due(messages: int, new: int) -> bool:
    """Whether messages are grouped again after so many new ones: each time that there are a tenth more."""
    step = min(CLASSIFIER_GROUPED_AFTER_MAX, max(1, messages // CLASSIFIER_GROUPED_SHARE))
    return messages // step > (messages - new) // step


def _rename(tx: Tx, access: Access, topic_id: str, name: str) -> None:
    """Name a topic, unless somebody has named it or taken something out of it meanwhile."""
    if not merge_store.hold_loose(tx, access, topic_id):
        return
    profile = profile_store.profile_of(tx, access, topic_id)
    if profile is None:
        return
    profile_store.save_profile(tx, access, topic_id, structs.replace(profile, named=profile.lines))
    change_topic(tx, access, topic_id, TopicChange(name=name))

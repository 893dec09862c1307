"""Merging the small topics that are about the same, and naming topics by their words, once a chat has moved on.

A merge is an event, the topic remembers it, and a person can take it back. Nothing that a person has named or sorted
is renamed or merged, and nothing is merged across spaces.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import structs

from carrel.board.classifier import merge_store, profile_store
from carrel.board.classifier.cases import Case
from carrel.board.classifier.likeness import Merge, Near, best_merge, is_fragment, is_mergeable
from carrel.board.classifier.scores import Candidate
from carrel.board.classifier.topic_merges import merge_topics
from carrel.board.profiles import Profile, Weights, name_by_words
from carrel.kernel import Access
from carrel.kernel.limits import (
    CLASSIFIER_CANDIDATES_MAX,
    CLASSIFIER_COMPARED_MAX,
    CLASSIFIER_PAUSE_SECONDS,
)
from carrel.kernel.settings import DigestsSettings
from carrel.search import Nearness
from carrel.storage import Database, Tx
from carrel.topics import TopicChange, change_topic

# What was said before a fragment is rather what it belongs to than what was said behind it.
_BEFORE = 0.1
# What is much farther in meaning than two topics are on the whole is no part of what was said around it.
_ABSORBED_MIN = -0.1
# A name lasts until a topic has so many times the messages it was named after.
_RENAMED_AT = 2


class Merges:
    """What a turn of sorting has to look at again."""

    def __init__(self, db: Database, access: Access, nearness: Nearness, settings: DigestsSettings) -> None:
        self._db, self._access, self._nearness, self._settings = db, access, nearness, settings
        self._sessions: dict[str, set[str]] = {}
        self.waiting = 0

    def note(self, case: Case) -> None:
        """Note that something was sorted by what it says."""
        self.waiting += 1
        if case.session_key is not None and not case.is_given:
            self._sessions.setdefault(case.space_id, set()).add(case.session_key)

    async def merge(self) -> None:
        """Merge and name the topics of late, space by space."""
        for space_id in sorted(self._sessions):
            await _Space(self._db, self._access, self._nearness, self._settings, space_id).merge(
                sorted(self._sessions[space_id])
            )
        self._sessions, self.waiting = {}, 0


class _Space:
    """The topics of one space while they are merged."""

    def __init__(
        self, db: Database, access: Access, nearness: Nearness, settings: DigestsSettings, space_id: str
    ) -> None:  # fmt: skip
        self._db, self._access, self._nearness, self._space_id = db, access, nearness, space_id
        self._settings = settings
        self._topics: dict[str, Candidate] = {}

    async def merge(self, sessions: Sequence[str]) -> None:
        """Merge what is about the same, then what is too small to stand alone, and name what is left."""
        rows, touched, open_ = await self._db.long_read(lambda tx: self._read(tx, sessions))
        self._topics = {row.id: row for row in rows}
        near = await self._near(touched)
        while (found := best_merge(list(self._topics.values()), touched, open_, near)) is not None:
            await self._merge(found)
        for topic_id in sorted(touched - open_):
            topic = self._topics.get(topic_id)
            if topic is not None and is_fragment(topic) and is_mergeable(topic):
                await self._absorb(topic, near)
        for topic_id in sorted(touched & self._topics.keys()):
            await self._name(self._topics[topic_id])

    def _read(self, tx: Tx, sessions: Sequence[str]) -> tuple[list[Candidate], set[str], set[str]]:
        """The topics; those that the sessions were at of late; and those that they are still at."""
        rows = profile_store.topics_of_space(tx, self._access, self._space_id, limit=CLASSIFIER_CANDIDATES_MAX)
        routes = [merge_store.topics_of_session(tx, self._access, session) for session in sessions]
        late = {name for route in routes for name in route}
        # Where there are not many, all are compared: with every message it is clearer which words say something.
        touched = late if len(rows) > CLASSIFIER_COMPARED_MAX else late | {row.id for row in rows}
        return rows, touched, {route[0] for route in routes if route}

    async def _near(self, touched: set[str]) -> Near:
        topics = [topic for topic in self._topics.values() if is_mergeable(topic)]
        near = await self._nearness.between([(topic.profile or Profile()).text for topic in topics])
        if near is None:
            return {}
        return {
            (one.id, other.id): float(near[a, b])
            for a, one in enumerate(topics)
            if one.id in touched
            for b, other in enumerate(topics)
        }

    async def _merge(self, found: Merge) -> None:
        into, other = self._topics[found.topic_id], self._topics.pop(found.other_id)
        work = partial(merge_topics, access=self._access, topic_id=into.id, other_id=other.id, settings=self._settings)
        if await self._db.write(work):
            profile = (into.profile or Profile()).joined(other.profile or Profile())
            self._topics[into.id] = structs.replace(into, profile=profile)

    async def _absorb(self, topic: Candidate, near: Near) -> None:
        """Merge a topic that has too few messages into what was talked about around it."""
        within = CLASSIFIER_PAUSE_SECONDS
        read = partial(merge_store.neighbours, access=self._access, topic_id=topic.id, pause_seconds=within)
        found = [self._topics[name] for name in await self._db.long_read(read) if name in self._topics]
        around = [other for other in found if other.is_loose and is_mergeable(other) and not is_fragment(other)]
        if not around:
            return
        best = max(around, key=lambda other: _nearness(topic, other, near) + (_BEFORE if other is around[0] else 0.0))
        if _nearness(topic, best, near) >= _ABSORBED_MIN:
            await self._merge(Merge(best.id, topic.id))

    async def _name(self, topic: Candidate) -> None:
        """Name a topic by the words that set it apart, once it has a few messages and whenever they are many more."""
        profile = topic.profile or Profile()
        if not topic.is_loose or not is_mergeable(topic) or is_fragment(topic):
            return
        if profile.lines < _RENAMED_AT * profile.named:
            return
        weights = Weights([(other.profile or Profile()).words for other in self._topics.values()])
        name = name_by_words(profile, weights)
        if name is not None:
            await self._db.write(partial(_rename, access=self._access, topic_id=topic.id, name=name))


def _nearness(one: Candidate, other: Candidate, near: Near) -> float:
    return near.get((one.id, other.id), 0.0)


def _rename(tx: Tx, access: Access, topic_id: str, name: str) -> None:
    """Name a topic, unless somebody has named it or taken something out of it meanwhile."""
    if not merge_store.hold_loose(tx, access, topic_id):
        return
    profile = profile_store.profile_of(tx, access, topic_id)
    if profile is None:
        return
    profile_store.save_profile(tx, access, topic_id, structs.replace(profile, named=profile.lines))
    change_topic(tx, access, topic_id, TopicChange(name=name))

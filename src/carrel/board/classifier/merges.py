"""Regrouping the messages of a space as it grows: those about the same thing become one topic, named by its words.

A merge publishes an event, the remaining topic records it, and a person can undo it; moving a message to another topic
changes its entry. What a person has named or sorted is never renamed, moved or merged, and nothing leaves its space.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from msgspec import structs

from carrel.board.classifier import store, thresholds
from carrel.board.classifier.cases import Case
from carrel.board.classifier.groups import group_messages
from carrel.board.classifier.moves import Move, Unit, moves_to, units_of
from carrel.board.classifier.phrases import name_by_words, name_of, social_words_in
from carrel.board.classifier.rules import SMALL_TALK, Candidate
from carrel.board.digest_store import note_digest
from carrel.board.digests import forget_digest
from carrel.board.entries import change_entry, readable_entry
from carrel.board.model import LogChange
from carrel.board.profiles import Profile, Weights
from carrel.board.store import move_route, move_routes
from carrel.journal import entries_by_id, update_entry
from carrel.kernel import Access, invalid, limits
from carrel.kernel.settings import DigestsSettings
from carrel.search import Similarity
from carrel.storage import Database, Tx
from carrel.topics import (
    NewTopic,
    Topic,
    TopicChange,
    absorb_topic,
    change_topic,
    curate_topic,
    put_topic,
    readable_topic,
    spaces_of_topic,
)


def merge_topics(tx: Tx, access: Access, topic_id: str, other_id: str, settings: DigestsSettings) -> bool:
    """Merge a topic made by the classifier into another; False if that is no longer allowed."""
    # Topics are always locked in the same order.
    held = {name: store.hold_mergeable(tx, access, name) for name in sorted((topic_id, other_id))}
    if not held[other_id] or _why_separate(tx, access, topic_id, other_id) is not None:
        return False
    known = [store.profile_of(tx, access, name) for name in (topic_id, other_id)]
    _move(tx, access, topic_id, other_id)
    if known[0] is not None and known[1] is not None:
        store.save_profile(tx, access, topic_id, known[0].joined(known[1]))
    note_digest(tx, access, "topic", topic_id, settings)
    return True


def move_messages(tx: Tx, access: Access, move: Move, space_id: str, settings: DigestsSettings) -> set[str]:
    """Move messages out of a topic made by the classifier; return the topics that have changed, if any."""
    held = {name: store.hold_mergeable(tx, access, name) for name in sorted(filter(None, (move.topic_id, move.to)))}
    if not held[move.topic_id]:
        return set()
    name = name_of(move.units[0].entry.text)
    to = move.to or put_topic(tx, access, NewTopic(name=name, space_id=space_id, created_by="classifier"))[0].id
    if not _share_spaces(tx, access, move.topic_id, to):
        return set()
    forget_digest(tx, access, "topic", move.topic_id)
    for topic_id in (move.topic_id, to):
        note_digest(tx, access, "topic", topic_id, settings)
    for entry in entries_by_id(tx, access, [entry_id for unit in move.units for entry_id in unit.entry_ids]):
        if (entry.topic_id, entry.task_id) == (move.topic_id, None):
            update_entry(tx, access, structs.replace(entry, topic_id=to))
            move_route(tx, access, entry.session_key or "", entry.seq, to)
    return {move.topic_id, to}


def join_topics(tx: Tx, access: Access, topic_id: str, other_ids: Sequence[str]) -> Topic:
    """Merge topics into another for a person; Refusal if something keeps them apart."""
    topic = readable_topic(tx, access, topic_id)
    for other_id in dict.fromkeys(other_ids):
        readable_topic(tx, access, other_id)
        for name in sorted((topic_id, other_id)):
            store.hold_mergeable(tx, access, name)
        if (reason := _why_separate(tx, access, topic_id, other_id)) is not None:
            raise invalid("topicIds", reason)
        forget_digest(tx, access, "topic", topic_id)
        topic = _move(tx, access, topic_id, other_id)
    return topic


def split_topic(tx: Tx, access: Access, topic_id: str, entry_ids: Sequence[str], name: str | None) -> Topic:
    """Move entries of a topic into a new one, and return that; the classifier no longer merges the two."""
    topic = readable_topic(tx, access, topic_id)
    entries = [readable_entry(tx, access, entry_id) for entry_id in dict.fromkeys(entry_ids)]
    if not entries or any(entry.topic_id != topic.id for entry in entries):
        raise invalid("entryIds", "entryIds must name entries of this topic, at least one.")
    if any(entry.task_id is not None for entry in entries):
        raise invalid("entryIds", "An entry of a task stays with its task; move the task instead.")
    first = min(entries, key=lambda entry: entry.seq)
    new = NewTopic(name=name or name_of(first.content), space_id=topic.space_id)
    made = put_topic(tx, access, new)[0]
    for entry in entries:
        change_entry(tx, access, entry.id, LogChange(topic_id=made.id))
    curate_topic(tx, access, topic.id)
    return made


def _why_separate(tx: Tx, access: Access, topic_id: str, other_id: str) -> str | None:
    """Why a topic cannot be merged into another; None if it can."""
    if topic_id == other_id:
        return "A topic cannot be merged into itself."
    if not _share_spaces(tx, access, topic_id, other_id):
        return "Only topics that are visible in the same spaces can be merged."
    if store.is_used(tx, access, other_id):
        return f"The topic '{other_id[:80]}' has tasks, topics below it or a session of its own; move those first."
    most = limits.CLASSIFIER_MERGED_ENTRIES_MAX
    if len(store.entries_of_topic(tx, access, other_id, limit=most + 1)) > most:
        return f"A topic of more than {most} entries is not merged; merge the other into it."
    return None


def _share_spaces(tx: Tx, access: Access, topic_id: str, other_id: str) -> bool:
    """Whether entries can move from one topic to another, because both are visible in the same spaces."""
    spaces = spaces_of_topic(tx, access, topic_id)
    return bool(spaces) and spaces == spaces_of_topic(tx, access, other_id)


def _move(tx: Tx, access: Access, topic_id: str, other_id: str) -> Topic:
    other = readable_topic(tx, access, other_id)
    ids = store.entries_of_topic(tx, access, other_id, limit=limits.CLASSIFIER_MERGED_ENTRIES_MAX)
    for entry in entries_by_id(tx, access, ids):
        update_entry(tx, access, structs.replace(entry, topic_id=topic_id))
    move_routes(tx, access, other_id, topic_id)
    return absorb_topic(tx, access, topic_id, other, tuple(ids))


class Merges:
    """Groups and names again the topics that a turn has sorted into, space by space."""

    def __init__(self, db: Database, access: Access, similarity: Similarity, settings: DigestsSettings) -> None:
        self._db, self._access, self._similarity, self._settings = db, access, similarity, settings
        self._sorted = Counter[str]()

    @property
    def waiting(self) -> int:
        """How many bundles were sorted since topics were last grouped."""
        return self._sorted.total()

    def note(self, case: Case) -> None:
        """Note that a bundle was sorted by its content."""
        self._sorted[case.space_id] += 1

    async def merge(self) -> None:
        """Group and name the topics that were sorted into."""
        for space_id, count in sorted(self._sorted.items()):
            await self._group(space_id, count)
        self._sorted.clear()

    async def _group(self, space_id: str, count: int) -> None:
        """Group the messages of a space if there are enough new ones, and name the topics that changed."""
        topics, units = await self._db.long_read(lambda tx: self._read(tx, space_id, count))
        changed = set[str]()
        social_words = social_words_in([unit.entry.text for unit in units])
        for move in await self._moves(topics, units, social_words):
            changed |= await self._move(space_id, move)
        for topic_id in sorted(changed):
            await self._db.write(partial(store.learn_again, access=self._access, topic_id=topic_id))
        if units or changed:
            await self._name(space_id, changed, social_words)

    def _read(self, tx: Tx, space_id: str, count: int) -> tuple[dict[str, Candidate], list[Unit]]:
        """The topics to group, and their messages; no messages if it is too soon to group them again."""
        topics = {row.id: row for row in store.topics_of_space(tx, self._access, space_id) if is_groupable(row)}
        if not _is_due(sum((topic.profile or Profile()).lines for topic in topics.values()), count):
            return topics, []
        entries = store.said_in_topics(tx, self._access, sorted(topics), limit=limits.CLASSIFIER_GROUPED_ENTRIES_MAX)
        return topics, units_of(entries)

    async def _moves(
        self, topics: Mapping[str, Candidate], units: Sequence[Unit], social_words: AbstractSet[str]
    ) -> list[Move]:  # fmt: skip
        gists = [" ".join(unit.telling(social_words).values()) for unit in units]
        meanings = await self._similarity.directions(gists) if units else None
        messages = [unit.message(not topics[unit.entry.topic_id].is_mergeable, social_words) for unit in units]
        # In a thread, because thousands of messages take as long as many turns.
        found = await asyncio.to_thread(group_messages, messages, meanings)
        settled = {
            number: topic_id
            for number, group in enumerate(found)
            if (topic_id := next((messages[at].settled for at in group if messages[at].settled), None)) is not None
        }
        return moves_to([[units[at] for at in group] for group in found], settled)

    async def _move(self, space_id: str, move: Move) -> set[str]:
        """Move messages to another topic; return the topics that have changed."""
        if move.is_all and move.to is not None:
            work = partial(merge_topics, topic_id=move.to, other_id=move.topic_id, settings=self._settings)
            return {move.to} if await self._db.write(partial(work, access=self._access)) else set()
        moved = partial(move_messages, move=move, space_id=space_id, settings=self._settings)
        return await self._db.write(partial(moved, access=self._access))

    async def _name(self, space_id: str, changed: set[str], social_words: AbstractSet[str]) -> None:
        """Name the topics that have changed or grown a lot, by their most distinctive words."""
        rows = await self._db.long_read(lambda tx: store.topics_of_space(tx, self._access, space_id))
        weights = Weights([(row.profile or Profile()).words for row in rows])
        for topic in sorted(rows, key=lambda row: row.id):
            profile = topic.profile or Profile()
            is_grown = profile.lines >= thresholds.RENAMED_AT * profile.named
            # A topic with too few messages cannot be named by its words.
            is_large = profile.lines > limits.CLASSIFIER_FRAGMENT_LINES_MAX
            if not (is_large and topic.is_mergeable and is_groupable(topic) and (is_grown or topic.id in changed)):
                continue
            if (name := name_by_words(profile, weights, social_words)) is not None:
                await self._db.write(partial(_rename, access=self._access, topic_id=topic.id, name=name))


def is_groupable(topic: Candidate) -> bool:
    """Return whether a topic is regrouped: not small talk, not snoozed, and visible only in its own space."""
    return topic.is_in_one_space and not topic.is_snoozed and topic.name != SMALL_TALK


def _is_due(messages: int, new: int) -> bool:
    """Whether there are enough new messages, about a tenth, to group all of them again."""
    step = min(limits.CLASSIFIER_GROUPED_AFTER_MAX, max(1, messages // limits.CLASSIFIER_GROUPED_SHARE))
    return messages // step > (messages - new) // step


def _rename(tx: Tx, access: Access, topic_id: str, name: str) -> None:
    """Name a topic, unless a person has named it or sorted something into it or out of it meanwhile."""
    if store.hold_mergeable(tx, access, topic_id) and (profile := store.profile_of(tx, access, topic_id)) is not None:
        store.save_profile(tx, access, topic_id, structs.replace(profile, named=profile.lines))
        change_topic(tx, access, topic_id, TopicChange(name=name))

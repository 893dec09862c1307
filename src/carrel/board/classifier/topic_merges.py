"""Merging topics of one space, and splitting one: what is said moves, and whoever follows the feed sees it."""

from collections.abc import Sequence

from msgspec import structs

from carrel.board.classifier import merge_store, profile_store
from carrel.board.classifier.moves import Move
from carrel.board.classifier.phrases import name_of
from carrel.board.digest_store import note_digest
from carrel.board.digests import forget_digest
from carrel.board.entries import change_entry, readable_entry
from carrel.board.model import LogChange
from carrel.board.route_store import move_route, move_routes
from carrel.journal import entries_by_id, update_entry
from carrel.kernel import MS_PER_MINUTE, Access, invalid
from carrel.kernel.limits import CLASSIFIER_MERGED_ENTRIES_MAX
from carrel.kernel.settings import DigestsSettings
from carrel.storage import Tx
from carrel.topics import (
    NewTopic,
    Topic,
    absorb_topic,
    curate_topic,
    put_topic,
    readable_topic,
    spaces_of_topic,
)


def merge_topics(tx: Tx, access: Access, topic_id: str, other_id: str, settings: DigestsSettings) -> bool:
    """Merge a topic that the classifier has made into another; False when that may not be any more."""
    # Topics are locked in one order, whoever merges them.
    held = {name: merge_store.hold_loose(tx, access, name) for name in sorted((topic_id, other_id))}
    if not held[other_id] or _hindrance(tx, access, topic_id, other_id) is not None:
        return False
    known = [profile_store.profile_of(tx, access, name) for name in (topic_id, other_id)]
    _move(tx, access, topic_id, other_id)
    if known[0] is not None and known[1] is not None:
        profile_store.save_profile(tx, access, topic_id, known[0].joined(known[1]))
    note_digest(tx, access, "topic", topic_id, int(settings.interval_minutes * MS_PER_MINUTE))
    return True


def move_messages(tx: Tx, access: Access, move: Move, space_id: str, settings: DigestsSettings) -> set[str]:
    """Move messages out of a topic that the classifier has made; return the topics that have changed, maybe none."""
    held = {name: merge_store.hold_loose(tx, access, name) for name in sorted(filter(None, (move.topic_id, move.to)))}
    if not held[move.topic_id]:
        return set()
    name = name_of(move.units[0].entry.text)
    to = move.to or put_topic(tx, access, NewTopic(name=name, space_id=space_id, created_by="classifier"))[0].id
    if _distance(tx, access, move.topic_id, to) is not None:
        return set()
    forget_digest(tx, access, "topic", move.topic_id)
    for topic_id in (move.topic_id, to):
        note_digest(tx, access, "topic", topic_id, int(settings.interval_minutes * MS_PER_MINUTE))
    for entry in entries_by_id(tx, access, [entry_id for unit in move.units for entry_id in unit.entry_ids]):
        if (entry.topic_id, entry.task_id) == (move.topic_id, None):
            update_entry(tx, access, structs.replace(entry, topic_id=to))
            move_route(tx, access, entry.session_key or "", entry.seq, to)
    return {move.topic_id, to}


def join_topics(tx: Tx, access: Access, topic_id: str, other_ids: Sequence[str]) -> Topic:
    """Merge topics into another, as a person says; Refusal where they are not alike enough for that."""
    topic = readable_topic(tx, access, topic_id)
    for other_id in dict.fromkeys(other_ids):
        readable_topic(tx, access, other_id)
        for name in sorted((topic_id, other_id)):
            merge_store.hold_loose(tx, access, name)
        hindrance = _hindrance(tx, access, topic_id, other_id)
        if hindrance is not None:
            raise invalid("topicIds", hindrance)
        forget_digest(tx, access, "topic", topic_id)
        topic = _move(tx, access, topic_id, other_id)
    return topic


def split_topic(tx: Tx, access: Access, topic_id: str, entry_ids: Sequence[str], name: str | None) -> Topic:
    """Move entries of a topic into a new one, and return that; the classifier merges the two no more."""
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


def _hindrance(tx: Tx, access: Access, topic_id: str, other_id: str) -> str | None:
    """Why a topic cannot be merged into another; None when it can."""
    if topic_id == other_id:
        return "A topic cannot be merged into itself."
    distance = _distance(tx, access, topic_id, other_id)
    if distance is not None:
        return distance
    if merge_store.is_used(tx, access, other_id):
        return f"The topic '{other_id[:80]}' has tasks, topics below it or a session of its own; move those first."
    if len(merge_store.entries_of_topic(tx, access, other_id, limit=CLASSIFIER_MERGED_ENTRIES_MAX + 1)) > (
        CLASSIFIER_MERGED_ENTRIES_MAX
    ):
        return f"A topic of more than {CLASSIFIER_MERGED_ENTRIES_MAX} entries is not merged; merge the other into it."
    return None


def _distance(tx: Tx, access: Access, topic_id: str, other_id: str) -> str | None:
    """Why nothing can go from one topic to another; None when it can."""
    spaces = [spaces_of_topic(tx, access, name) for name in (topic_id, other_id)]
    if spaces[0] != spaces[1] or not spaces[0]:
        return "Only topics that are visible in the same spaces can be merged."
    return None


def _move(tx: Tx, access: Access, topic_id: str, other_id: str) -> Topic:
    other = readable_topic(tx, access, other_id)
    ids = merge_store.entries_of_topic(tx, access, other_id, limit=CLASSIFIER_MERGED_ENTRIES_MAX)
    for entry in entries_by_id(tx, access, ids):
        update_entry(tx, access, structs.replace(entry, topic_id=topic_id))
    move_routes(tx, access, other_id, topic_id)
    return absorb_topic(tx, access, topic_id, other, tuple(ids))

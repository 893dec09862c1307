"""Creating, changing, finding, ordering and removing topics."""

import re
from typing import Any

from msgspec import UNSET, UnsetType, structs

from carrel.access import SpaceRemoved, readable_space
from carrel.journal import DEFAULT_SPACE, About, append_event, json_text
from carrel.kernel import Access, Code, Grammar, Refusal, clip, invalid, iso, not_found, system_access
from carrel.kernel.limits import TOPIC_DEPTH_MAX, TOPIC_DIGEST_CHARS_MAX, TOPIC_MERGES_KEPT
from carrel.storage import Database, Tx
from carrel.topics import store
from carrel.topics.model import (
    DEFAULT_PRIORITY,
    Merged,
    NewTopic,
    Topic,
    TopicChange,
    TopicMoved,
    TopicShape,
    check_change,
    read_priority,
)
from carrel.topics.tags import clean_tags, space_of_tag, spaces_of_tags

_ID = re.compile(Grammar.CLIENT_ID)
# Fields that have no rule beyond their size.
_PLAIN = ("name", "description", "status", "snoozed_until", "pinned", "color", "sort_index")
# What a new topic is, unless it says otherwise.
_UNCHANGED: dict[str, Any] = {
    "description": "", "status": "active", "snoozed_until": None, "priority": DEFAULT_PRIORITY, "pinned": False,
    "color": None, "digest": None, "digest_updated_at": None, "merged_from": (),
}  # fmt: skip
# Fixed for the classifier once anybody else has changed it.
_CURATED = ("name", "space_id", "parent_id")


def put_topic(tx: Tx, access: Access, new: NewTopic) -> tuple[Topic, bool]:
    """Create a topic; return it, and False if its id was known and it was only changed."""
    check_change(new)
    if new.id is not None and not _ID.fullmatch(new.id):
        message = "An id begins with a letter or digit and has at most 128 letters, digits, hyphens, dots, underscores."
        raise invalid("id", message)
    if new.id is not None and store.topic_by_id(tx, access, new.id) is not None:
        return change_topic(tx, access, new.id, new), False
    tags = () if new.tags is UNSET else clean_tags(new.tags)
    named = spaces_of_tags(tx, access, tags)
    space_id = _owner(tx, access, new.space_id, named, first_space(access))
    topic = Topic(
        id=new.id or tx.new_id("topic"),
        space_id=space_id,
        tags=tags,
        parent_id=_parent(tx, access, new.parent_id),
        created_by=new.created_by,
        created_at=tx.now,
        updated_at=tx.now,
        seq=tx.tick(),
        **_UNCHANGED | {"sort_index": store.first_sort_index(tx, access) - 1} | _plain(new),
    )
    if not store.insert_topic(tx, access, topic):
        raise Refusal.of_taken_id(topic.id)
    store.replace_spaces(tx, access, topic.id, dict.fromkeys((space_id, *named)))
    _publish(tx, access, "topic.created", topic)
    return topic, True


def change_topic(tx: Tx, access: Access, topic_id: str, change: TopicChange) -> Topic:
    """Change fields of a topic. When it moves, its tasks and entries move with it.

    New tags without a given space move it to the first space that they name; if they name none, it stays.
    """
    check_change(change)
    topic = readable_topic(tx, access, topic_id, hold=True)
    given = _plain(change)
    tags = topic.tags if change.tags is UNSET else clean_tags(change.tags)
    named = spaces_of_tags(tx, access, tags, topic)
    if change.parent_id is not UNSET:
        given["parent_id"] = _parent(tx, access, change.parent_id, topic_id=topic.id)
    if tags != topic.tags or change.space_id is not UNSET:
        given |= {"tags": tags, "space_id": _owner(tx, access, change.space_id, named, topic.space_id)}
    changes = {name for name, value in given.items() if getattr(topic, name) != value}
    if not changes:
        return topic
    given["curated"] = topic.curated or (not changes.isdisjoint(_CURATED) and _is_curated_by(access, topic))
    changed = store.save_topic(tx, access, structs.replace(topic, **given))
    _place(tx, access, topic, changed, named)
    _publish(tx, access, "topic.updated", changed)
    return changed


def remove_topic(tx: Tx, access: Access, topic_id: str) -> None:
    """Remove a topic; its tasks and entries keep their spaces, without a topic."""
    topic = readable_topic(tx, access, topic_id, hold=True)
    spaces = store.spaces_of_topic(tx, access, topic.id)
    store.depart_with_topic(tx, access, topic.id, spaces)
    tx.publish(TopicMoved(access, topic.id, None))
    store.detach_entries_of_topic(tx, access, topic.id)
    store.delete_topic(tx, access, topic.id)
    _publish(tx, access, "topic.deleted", topic, spaceIds=spaces)


def reorder_topics(tx: Tx, access: Access, ordered_ids: tuple[str, ...]) -> None:
    """Put topics into an order; together they keep their positions among all others."""
    # Locked in order of id, so that two reorderings at once do not deadlock.
    held = {topic_id: readable_topic(tx, access, topic_id, hold=True) for topic_id in sorted(set(ordered_ids))}
    indexes = sorted(topic.sort_index for topic in held.values())
    if len(set(indexes)) < len(indexes):
        # Equal sort indexes have no order of their own; these topics now come first.
        first = store.first_sort_index(tx, access) - len(indexes)
        indexes = [first + at for at in range(len(indexes))]
    for topic_id, index in zip(dict.fromkeys(ordered_ids), indexes, strict=True):
        if held[topic_id].sort_index != index:
            moved = structs.replace(held[topic_id], sort_index=index)
            _publish(tx, access, "topic.updated", store.save_topic(tx, access, moved))


def readable_topic(tx: Tx, access: Access, topic_id: str, *, hold: bool = False) -> Topic:
    """Return a topic that the caller may see, locked with `hold`; otherwise refuse as not found."""
    if (topic := store.topic_by_id(tx, access, topic_id, hold=hold)) is None:
        raise not_found("topic")
    return topic


def set_topic_digest(tx: Tx, access: Access, topic_id: str, text: str) -> Topic:
    """Replace the digest of a topic without changing its time of change or its position in lists."""
    topic = readable_topic(tx, access, topic_id, hold=True)
    renewed = structs.replace(topic, digest=clip(text, TOPIC_DIGEST_CHARS_MAX), digest_updated_at=tx.now)
    return store.save_topic(tx, access, renewed, quiet=True)


def curate_topic(tx: Tx, access: Access, topic_id: str) -> None:
    """Note that somebody sorted something into a topic: the classifier no longer renames or merges it."""
    topic = store.topic_by_id(tx, access, topic_id, hold=True)
    if topic is not None and not topic.curated and _is_curated_by(access, topic):
        store.save_topic(tx, access, structs.replace(topic, curated=True), quiet=True)


def absorb_topic(tx: Tx, access: Access, topic_id: str, other: Topic, entry_ids: tuple[str, ...]) -> Topic:
    """Remove a topic whose entries were moved into another, which records them; publish `topic.merged`."""
    merged = Merged(id=other.id, name=other.name, at=iso(tx.now) or "", entry_ids=entry_ids)
    topic = readable_topic(tx, access, topic_id, hold=True)
    kept = (*topic.merged_from, *other.merged_from, merged)[-TOPIC_MERGES_KEPT:]
    curated = topic.curated or _is_curated_by(access, topic)
    changed = store.save_topic(tx, access, structs.replace(topic, merged_from=kept, curated=curated))
    remove_topic(tx, access, other.id)
    _publish(tx, access, "topic.merged", changed, merged=merged)
    return changed


def forget_merges(tx: Tx, access: Access, topic_id: str) -> None:
    """Forget the merges of a topic: old names may repeat words that were removed."""
    topic = readable_topic(tx, access, topic_id, hold=True)
    if topic.merged_from:
        store.save_topic(tx, access, structs.replace(topic, merged_from=()), quiet=True)


def first_space(access: Access) -> str:
    """Return the space of something that was given none: the default one, if the caller may see it."""
    return DEFAULT_SPACE if access.covers([DEFAULT_SPACE]) else next(iter(access.space_ids), DEFAULT_SPACE)


def observe_spaces(db: Database) -> None:
    """Register what happens to topics and entries when their space is removed."""
    db.observe(SpaceRemoved, _leave_space)


def _leave_space(tx: Tx, removed: SpaceRemoved) -> None:
    """Move the topics and entries of a space to the default space, and remove the tags that name it."""
    access = system_access(removed.access.account_id)
    for topic in store.topics_of_space(tx, access, removed.space_id):
        tags = tuple(tag for tag in topic.tags if space_of_tag(tag) != removed.space_id)
        own = DEFAULT_SPACE if topic.space_id == removed.space_id else topic.space_id
        change_topic(tx, access, topic.id, TopicChange(tags=tags, space_id=own))
    store.move_entries(tx, access, "space", removed.space_id, DEFAULT_SPACE)


def _is_curated_by(access: Access, topic: Topic) -> bool:
    """Whether the caller's change overrides the classifier's decision for good."""
    return topic.created_by == "classifier" and access.kind != "system"


def _plain(change: TopicChange) -> dict[str, Any]:
    given = {name: value for name in _PLAIN if (value := getattr(change, name)) is not UNSET}
    return given if change.priority is UNSET else given | {"priority": read_priority(change.priority)}


def _owner(tx: Tx, access: Access, given: str | UnsetType, named: tuple[str, ...], else_: str) -> str:
    """Return the space of a topic: the given one, else the first that its tags name."""
    if given is not UNSET:
        return readable_space(tx, access, given, field="spaceId").id
    return next((space for space in named if access.covers([space])), else_)


def _parent(tx: Tx, access: Access, parent_id: str | UnsetType | None, *, topic_id: str | None = None) -> str | None:
    """Return the id of the parent topic; circles and too deep nesting are refused."""
    if not parent_id:
        return None
    if (above := store.topic_by_id(tx, access, parent_id)) is None:
        raise invalid("parentId", f"There is no topic '{parent_id[:80]}'.")
    everything = system_access(access.account_id)
    # Bounded, since two concurrent changes may have closed a circle somewhere above.
    for _ in range(TOPIC_DEPTH_MAX):
        if above is None:
            return parent_id
        if above.id == topic_id:
            raise invalid("parentId", "A topic cannot be a part of itself, not even through others.")
        above = None if above.parent_id is None else store.topic_by_id(tx, everything, above.parent_id)
    raise Refusal(Code.LIMIT_REACHED, f"Topics are nested at most {TOPIC_DEPTH_MAX} deep.", field="parentId")


def _place(tx: Tx, access: Access, before: Topic, after: Topic, named: tuple[str, ...]) -> None:
    """Make a changed topic visible where its space and tags say, and move what is below it."""
    known = store.spaces_of_topic(tx, access, after.id)
    spaces = tuple(dict.fromkeys((after.space_id, *named)))
    if set(spaces) != set(known):
        store.replace_spaces(tx, access, after.id, spaces)
        store.depart_with_topic(tx, access, after.id, [space for space in known if space not in spaces])
        if not set(spaces) <= set(known):
            store.appear_with_topic(tx, access, after.id)
    if after.space_id != before.space_id:
        tx.publish(TopicMoved(access, after.id, after.space_id))
        store.move_entries(tx, access, "topic", after.id, after.space_id)


def _publish(tx: Tx, access: Access, name: str, topic: Topic, **more: Any) -> None:
    body = json_text({"topic": TopicShape.of(topic), **more})
    append_event(tx, access, name, About(topic_id=topic.id, space_id=topic.space_id), body)

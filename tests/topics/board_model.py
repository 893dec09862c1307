"""What the rules of spaces say, in a few sets: a model that shares no code with the board."""

import re
from dataclasses import dataclass, field

DEFAULT = "space-default"


def spaces_named(tags: tuple[str, ...]) -> list[str]:
    """Return the spaces that tags name, in their order."""
    found = []
    for tag in tags:
        label = tag.split(":", 1)[1] if tag.lower().startswith("space:") else tag
        if not tag.lower().startswith("system:") and (slug := "-".join(re.findall(r"[a-z0-9]+", label.lower()))):
            found.append(DEFAULT if slug in ("default", "global", "all", "all-spaces") else f"space-{slug}")
    return list(dict.fromkeys(found))


@dataclass
class Topic:
    """Where a topic is."""

    space: str
    tags: tuple[str, ...]

    @property
    def spaces(self) -> set[str]:
        """The spaces it is visible in."""
        return {self.space, *spaces_named(self.tags)}


@dataclass
class Item:
    """Where a task or an entry is."""

    space: str | None
    topic: str | None = None
    task: str | None = None
    in_lane: bool = False


@dataclass
class Board:
    """Everything on a board, and what is visible of it in some spaces."""

    spaces: dict[str, dict[str, bool]] = field(default_factory=lambda: {DEFAULT: {}})
    topics: dict[str, Topic] = field(default_factory=dict)
    tasks: dict[str, Item] = field(default_factory=dict)
    entries: dict[str, Item] = field(default_factory=dict)
    deleted_topics: dict[str, set[str]] = field(default_factory=dict)
    # Where each was at its end; None for what was in a lane alone.
    deleted_entries: dict[str, set[str] | None] = field(default_factory=dict)

    def make_space(self, space: str) -> None:
        """A new space sees the others and is seen by them."""
        if space not in self.spaces:
            for edges in self.spaces.values():
                edges[space] = True
            self.spaces[space] = dict.fromkeys(self.spaces, True)

    def put_topic(self, topic_id: str, tags: tuple[str, ...], space: str | None) -> None:
        """Make a topic, or give a known one new tags and maybe a space."""
        known = self.topics.get(topic_id)
        for named in spaces_named(tags):
            self.make_space(named)
        derived = [space] if space else spaces_named(tags) if known is None or known.tags != tags else []
        home = (*derived, known.space if known else DEFAULT)[0]
        self.topics[topic_id] = Topic(home, tags)
        if known is not None and known.space != home:
            for task in (task for task in self.tasks.values() if task.topic == topic_id):
                task.space = home
            for entry in self.entries.values():
                if topic_id in (entry.topic, self.tasks[entry.task].topic if entry.task else None):
                    entry.space = home

    def place_task(self, task_id: str, topic: str | None, space: str) -> None:
        """Put a task somewhere, with its entries."""
        known = self.tasks.get(task_id)
        self.tasks[task_id] = Item(space, topic)
        if known is not None and (known.topic, known.space) != (topic, space):
            for entry in self.entries.values():
                if entry.task == task_id:
                    entry.space = space
                    entry.topic = topic if known.topic != topic else entry.topic

    def remove_topic(self, topic_id: str) -> None:
        """Remove a topic; what was under it stays where it is."""
        self.deleted_topics[topic_id] = self.topics[topic_id].spaces
        for task_id, task in list(self.tasks.items()):
            if task.topic == topic_id:
                self.place_task(task_id, None, task.space or DEFAULT)
        for entry in self.entries.values():
            if entry.topic == topic_id:
                entry.topic = None
        del self.topics[topic_id]

    def delete_entry(self, entry_id: str) -> None:
        """Delete an entry."""
        entry = self.entries[entry_id]
        everywhere = {space for topic in self.topics.values() for space in topic.spaces} | set(self.spaces)
        alone = entry.in_lane and (entry.space, entry.topic, entry.task) == (None, None, None)
        spaces = {space for space in everywhere if self.shows(entry, {space}, named=True)}
        self.deleted_entries[entry_id] = None if alone else spaces
        del self.entries[entry_id]

    def remove_space(self, space: str) -> None:
        """Remove a space; what was in it is in the default space then."""
        for topic_id, topic in list(self.topics.items()):
            tags = tuple(tag for tag in topic.tags if spaces_named((tag,)) != [space])
            self.put_topic(topic_id, tags, DEFAULT if topic.space == space else topic.space)
        for entry in self.entries.values():
            if entry.space == space:
                entry.space = DEFAULT
        for task_id, task in list(self.tasks.items()):
            if task.space == space:
                self.place_task(task_id, task.topic, DEFAULT)
        del self.spaces[space]
        for edges in self.spaces.values():
            edges.pop(space, None)

    def allowed_from(self, space: str) -> set[str]:
        """Return what is visible from a space."""
        return {space} | {other for other, visible in self.spaces.get(space, {}).items() if visible}

    def topics_in(self, seen: set[str]) -> set[str]:
        """Return the topics that are visible in some spaces."""
        return {topic_id for topic_id, topic in self.topics.items() if topic.spaces & seen}

    def tasks_in(self, seen: set[str]) -> set[str]:
        """Return the tasks that are visible in some spaces."""
        topics = self.topics_in(seen)
        return {task_id for task_id, task in self.tasks.items() if task.space in seen or task.topic in topics}

    def entries_in(self, seen: set[str], *, named: bool) -> set[str]:
        """Return the entries that are visible in some spaces, which a reader is limited to or has `named`."""
        return {entry_id for entry_id, entry in self.entries.items() if self.shows(entry, seen, named=named)}

    def shows(self, entry: Item, seen: set[str], *, named: bool) -> bool:
        """Return whether an entry is visible."""
        if (entry.space, entry.topic, entry.task) == (None, None, None):
            return DEFAULT in seen or (entry.in_lane and not named)
        return entry.space in seen or entry.topic in self.topics_in(seen) or entry.task in self.tasks_in(seen)

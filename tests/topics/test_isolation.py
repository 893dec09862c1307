"""Isolation of spaces: whatever is made, tagged, moved and removed, every read shows what the rules say and no more.

A random board is compared with a model that knows the rules only: lists, log, changes from the beginning, a client that
follows the changes, and all events; for readers who are limited to spaces, and for reads that name some.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import structs

from carrel.access import SpaceScope, connect_spaces, effective_spaces, every_space, make_space, remove_space
from carrel.journal import (
    Event,
    NewEntry,
    append_entry,
    delete_entry,
    entries_by_id,
    events_after,
    update_entry,
)
from carrel.kernel import Access, Provenance
from carrel.storage import Tx
from carrel.topics import NewTopic, TopicChange, TopicFilter, change_topic, list_topics, put_topic, remove_topic
from carrel.visibility import seen_entries, visible_events
from carrel.work import TaskChange, TaskFilter, change_task, list_tasks, visible_changes
from tests.harness.engine import lane_key
from tests.requirements.mark import requirement
from tests.topics.board_model import DEFAULT, Board, Item, spaces_named
from tests.work.desk import Desk

TAGS = ("space:Work", "home", "Garden", "system:x", "all")
STEPS = 40
MUCH = 10_000


@dataclass
class Reader:
    """Somebody who sees some spaces, or names some, and follows the changes."""

    access: Access
    source: str | None = None
    cursor: int = 0
    held: dict[str, set[str]] = field(default_factory=lambda: {kind: set() for kind in ("topics", "tasks", "logs")})
    ever: set[str] = field(default_factory=set)

    def scope(self, tx: Tx) -> SpaceScope:
        """The spaces that its reads name."""
        return effective_spaces(tx, self.access, space_id=self.source) if self.source else SpaceScope()

    def sees(self, board: Board) -> set[str]:
        """The spaces that it sees, by the rules."""
        own = set(self.access.space_ids)
        if self.source is None:
            return own
        allowed = board.allowed_from(self.source)
        return allowed if "*" in own else own & allowed


class World:
    """A random board on a real store, its model, and those who read it."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.board, self.random = desk, Board(), random.Random(seed)
        limits = [("space-work",), ("space-home", DEFAULT), (), ("space-garden", "space-work")]
        self.readers = [
            *(Reader(self.limited(*spaces)) for spaces in limits),
            *(Reader(self.limited("*"), source=space) for space in ("space-work", DEFAULT)),
            Reader(self.limited("space-home", "space-work"), source="space-home"),
        ]

    def limited(self, *spaces: str) -> Access:
        """The access of a user who is limited to spaces."""
        return structs.replace(self.desk.access, kind="user", actor_id="usr_reader", space_ids=spaces)

    async def write(self, work: Callable[[Tx], Any]) -> Any:
        """Do something as the owner, who sees everything."""
        return await self.desk.db.write(work)

    async def step(self) -> None:
        """Do something at random, on the board and in the model."""
        steps = [
            self.put_topic, self.put_topic, self.change_topic, self.change_topic, self.remove_topic, self.make_task,
            self.make_task, self.change_task, self.change_task, self.say, self.say, self.say, self.move_entry,
            self.delete_entry, self.make_space, self.connect, self.remove_space,
        ]  # fmt: skip
        await self.random.choice(steps)()
        await self.note_activities()
        for reader in self.readers:
            reader.ever |= set().union(*self.expected(reader).values())

    def some(self, among: Any) -> Any:
        """One of some, or None."""
        listed = sorted(among)
        return self.random.choice([None, *listed]) if listed else None

    def tags(self) -> tuple[str, ...]:
        return tuple(self.random.sample(TAGS, self.random.randrange(4)))

    async def put_topic(self) -> None:
        tags, space = self.tags(), self.some(self.board.spaces)
        new = NewTopic(name="A topic", tags=tags, **({"space_id": space} if space else {}))
        topic, _ = await self.write(lambda tx: put_topic(tx, self.desk.access, new))
        self.board.put_topic(topic.id, tags, space)

    async def change_topic(self) -> None:
        topic_id = self.some(self.board.topics)
        if topic_id is None:
            return
        present = self.board.topics[topic_id].tags
        tags, space = self.random.choice([self.tags(), present]), self.some(self.board.spaces)
        change = TopicChange(tags=tags, **({"space_id": space} if space else {}))
        await self.write(lambda tx: change_topic(tx, self.desk.access, topic_id, change))
        self.board.put_topic(topic_id, tags, space)

    async def remove_topic(self) -> None:
        topic_id = self.some(self.board.topics)
        if topic_id is not None:
            await self.write(lambda tx: remove_topic(tx, self.desk.access, topic_id))
            self.board.remove_topic(topic_id)

    async def make_task(self) -> None:
        topic, space = self.some(self.board.topics), self.some(self.board.spaces)
        task = await self.desk.create(topic_id=topic, space_id=space)
        self.board.place_task(task.id, topic, space or (self.board.topics[topic].space if topic else DEFAULT))

    async def change_task(self) -> None:
        task_id = self.some(self.board.tasks)
        if task_id is None:
            return
        known = self.board.tasks[task_id]
        topic, space = self.some(self.board.topics), self.some(self.board.spaces)
        change = TaskChange(topic_id=topic, **({"space_id": space} if space else {}))
        await self.write(lambda tx: change_task(tx, self.desk.access, task_id, change, self.desk.rules))
        follows = topic is not None and topic != known.topic
        self.board.place_task(
            task_id, topic, space or (self.board.topics[topic].space if follows else known.space or DEFAULT)
        )

    async def say(self) -> None:
        topic, task, space = (self.some(among) for among in (self.board.topics, self.board.tasks, self.board.spaces))
        in_lane = self.random.random() < 0.3
        new = NewEntry(
            type="conversation", role="user", content="Something", author="user", topic_id=topic, task_id=task,
            space_id=space, provenance=Provenance(kind="external_user"), key=str(lane_key("main")) if in_lane else None,
        )  # fmt: skip
        entry = await self.write(lambda tx: append_entry(tx, self.desk.access, new))
        if task is not None and space is None:
            place = self.board.tasks[task]
            topic, space = topic or place.topic, None if place.space == DEFAULT else place.space
        self.board.entries[entry.id] = Item(space, topic, task, in_lane)

    async def move_entry(self) -> None:
        entry_id = self.some(self.board.entries)
        if entry_id is None:
            return
        topic, task, space = (self.some(among) for among in (self.board.topics, self.board.tasks, self.board.spaces))

        def work(tx: Tx) -> None:
            entry = entries_by_id(tx, self.desk.access, [entry_id])[0]
            moved = structs.replace(entry, topic_id=topic, task_id=task, space_id=space)
            update_entry(tx, self.desk.access, moved)

        await self.write(work)
        self.board.entries[entry_id] = Item(space, topic, task, self.board.entries[entry_id].in_lane)

    async def delete_entry(self) -> None:
        entry_id = self.some(self.board.entries)
        if entry_id is not None:
            await self.write(
                lambda tx: delete_entry(tx, self.desk.access, entries_by_id(tx, self.desk.access, [entry_id])[0])
            )
            self.board.delete_entry(entry_id)

    async def make_space(self) -> None:
        name = self.random.choice(("Work", "Home", "Garden", "Attic"))
        await self.write(lambda tx: make_space(tx, self.desk.access, name))
        self.board.make_space(f"space-{name.lower()}")

    async def connect(self) -> None:
        space, other = self.some(self.board.spaces), self.some(self.board.spaces)
        if space and other and space != other:
            visible = self.random.random() < 0.5
            await self.write(lambda tx: connect_spaces(tx, self.desk.access, space, {other: visible}))
            self.board.spaces[space][other] = visible

    async def remove_space(self) -> None:
        space = self.some(set(self.board.spaces) - {DEFAULT})
        if space is not None and self.random.random() < 0.5:
            await self.write(lambda tx: remove_space(tx, self.desk.access, space))
            self.board.remove_space(space)

    async def note_activities(self) -> None:
        """Add what was written about tasks to the model, where the tasks are."""
        sql = "SELECT id, task_id, key FROM entries WHERE account_id = :account"
        for entry_id, task_id, key in await self.desk.read(lambda tx: tx.all(sql, self.desk.access)):
            if entry_id not in self.board.entries and task_id is not None:
                task = self.board.tasks[task_id]
                self.board.entries[entry_id] = Item(task.space, task.topic, task_id)
            elif entry_id not in self.board.entries:
                self.board.entries[entry_id] = Item(None, in_lane=key is not None)

    async def check(self) -> None:
        """Compare every read of every reader with the model."""
        spaces = await self.desk.read(lambda tx: every_space(tx, self.desk.access))
        assert {space.id for space in spaces} == set(self.board.spaces)
        for reader in self.readers:
            await self.check_lists(reader)
            await self.follow(reader)
            await self.check_events(reader)

    def expected(self, reader: Reader) -> dict[str, set[str]]:
        """What a reader sees, by the rules."""
        seen, board = reader.sees(self.board), self.board
        entries = board.entries_in(seen, named=reader.source is not None)
        return {"topics": board.topics_in(seen), "tasks": board.tasks_in(seen), "logs": entries}

    async def check_lists(self, reader: Reader) -> None:
        def work(tx: Tx) -> dict[str, set[str]]:
            spaces = reader.scope(tx).allowed
            topics = list_topics(tx, reader.access, TopicFilter(spaces=spaces), limit=MUCH)
            tasks = list_tasks(tx, reader.access, TaskFilter(spaces=spaces), before=None, limit=MUCH)
            seen, values = seen_entries(tx, reader.access, spaces)
            entries = tx.all(f"SELECT id FROM entries WHERE account_id = :account AND {seen}", reader.access, **values)
            return {
                "topics": {topic.id for topic in topics},
                "tasks": {task.id for task in tasks},
                "logs": {row[0] for row in entries},
            }

        board, seen = self.board, reader.sees(self.board)
        strict = self.expected(reader) | {"logs": board.entries_in(seen, named=True)}
        assert await self.desk.read(work) == strict, (reader.access.space_ids, reader.source)

    async def follow(self, reader: Reader) -> None:
        """Follow the changes in small pages; what is held then is what the rules say."""
        # A client that starts over gets one page, so one that may have to asks for large ones.
        limit, more = MUCH if reader.source else self.random.randrange(1, 6), True
        while more:
            page = await self.desk.read(
                lambda tx: visible_changes(tx, reader.access, reader.cursor, limit=limit, scope=reader.scope(tx))
            )
            assert page.page.reset or page.page.seq > reader.cursor or not page.page.more
            reader.cursor, more = page.page.seq, page.page.more
            got = {
                "topics": {topic.id for topic in page.topics},
                "tasks": {task.id for task in page.tasks},
                "logs": {entry.id for entry in page.page.entries},
            }
            left = {"topics": page.left_topics, "tasks": page.left_tasks, "logs": page.left_entries}
            assert set().union(*left.values()) <= reader.ever, "nothing is told of what was never in view"
            gone = {
                "topics": {event.topic_id for event in page.page.deletions if event.name == "topic.deleted"},
                "tasks": set(),
                "logs": {named(event) for event in page.page.deletions if event.name == "log.deleted"},
            }
            for kind, held in reader.held.items():
                kept = set() if page.page.reset else held
                reader.held[kind] = (kept | got[kind]) - set(left[kind]) - gone[kind]  # type: ignore[operator]
        assert reader.held == self.expected(reader), (reader.access.space_ids, reader.source)

    async def check_events(self, reader: Reader) -> None:
        def work(tx: Tx) -> tuple[list[Event], set[int]]:
            events = events_after(tx, self.desk.access, 0, limit=MUCH)
            return events, {event.seq for event in visible_events(tx, reader.access, events, reader.scope(tx).allowed)}

        events, shown = await self.desk.read(work)
        for event in events:
            expected = self.shows(reader, event)
            assert expected is None or (event.seq in shown) == expected, (reader.access.space_ids, event)

    def shows(self, reader: Reader, event: Event) -> bool | None:
        """Whether a reader sees an event, by the rules; None where spaces have nothing to do with it."""
        board, seen = self.board, reader.sees(self.board)
        room, _, what = event.name.partition(".")
        if room == "space":
            return event.space_id in seen
        if event.name == "topic.deleted":
            return bool(board.deleted_topics[event.topic_id or ""] & seen)
        if room == "topic":
            return event.topic_id in board.topics_in(seen)
        if room == "task":
            return event.task_id in board.tasks_in(seen)
        if room == "log" and what == "deleted":
            was = board.deleted_entries[named(event)]
            return bool(was & seen) if was is not None else reader.source is None or DEFAULT in seen
        if room == "log":
            return named(event) in board.entries_in(seen, named=reader.source is not None)
        return None


def named(event: Event) -> str:
    """The id of the entry that an event is about."""
    body = json.loads(event.body)
    return str(body["id"] if event.name == "log.deleted" else body["log"]["id"])


@requirement("S4.space.task", "S4.space.log", "S4.space.topic", "S4.x.changes.exact")
@pytest.mark.parametrize("seed", range(4))
async def test_every_read_shows_what_the_rules_of_spaces_say_and_no_more(desk: Desk, seed: int) -> None:
    await desk.say(lane_key("main"), "Hello")
    world = World(desk, seed)
    await world.note_activities()
    for _ in range(STEPS):
        await world.step()
        if world.random.random() < 0.3:
            await world.check()
    await world.check()


def test_the_model_reads_tags_as_the_promises_say() -> None:
    assert spaces_named(("space:Work", "work", "system:x", "ALL")) == ["space-work", DEFAULT]

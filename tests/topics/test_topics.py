"""Topics: where they are visible, what moves with them, and what stays when they go."""

from typing import Any

import pytest
from msgspec import structs

from carrel.access import every_space, make_space, remove_space
from carrel.journal import DEFAULT_SPACE, NewEntry, append_entry, entries_by_id, events_after
from carrel.kernel import Access, Code, Provenance, Refusal
from carrel.kernel.limits import TOPIC_DEPTH_MAX
from carrel.storage import Tx
from carrel.topics import (
    NewTopic,
    Topic,
    TopicChange,
    TopicFilter,
    change_topic,
    list_topics,
    put_topic,
    readable_topic,
    remove_topic,
    reorder_topics,
    set_topic_digest,
    spaces_of_topic,
    topics_by_id,
)
from carrel.visibility import seen_entries
from carrel.work import Task, TaskChange, change_task, visible_changes
from tests.requirements.mark import requirement
from tests.work.desk import Desk


async def put(desk: Desk, name: str, access: Access | None = None, **more: Any) -> Topic:
    new = NewTopic(name=name, **more)
    return (await desk.db.write(lambda tx: put_topic(tx, access or desk.access, new)))[0]


async def change(desk: Desk, topic: Topic, **more: Any) -> Topic:
    return await desk.db.write(lambda tx: change_topic(tx, desk.access, topic.id, TopicChange(**more)))


async def space(desk: Desk, name: str) -> str:
    return (await desk.db.write(lambda tx: make_space(tx, desk.access, name)))[0].id


async def spaces(desk: Desk, topic: Topic) -> set[str]:
    return set(await desk.read(lambda tx: spaces_of_topic(tx, desk.access, topic.id)))


async def names(desk: Desk, access: Access | None = None, **wanted: Any) -> list[str]:
    asker = access or desk.access
    found = await desk.read(lambda tx: list_topics(tx, asker, TopicFilter(**wanted), limit=100))
    return [topic.name for topic in found]


def only(desk: Desk, *allowed: str) -> Access:
    return structs.replace(desk.access, kind="user", actor_id="usr_1", space_ids=allowed)


async def say(desk: Desk, text: str, **where: Any) -> str:
    new = NewEntry(
        type="conversation", role="user", content=text, author="user", provenance=Provenance(kind="external_user"),
        **where,
    )  # fmt: skip
    return (await desk.db.write(lambda tx: append_entry(tx, desk.access, new))).id


async def texts(desk: Desk, *allowed: str) -> set[str]:
    """What is said in entries that are visible in those spaces."""

    def work(tx: Tx) -> set[str]:
        seen, values = seen_entries(tx, desk.access, allowed)
        sql = f"SELECT content FROM entries WHERE account_id = :account AND task_view IS NULL AND {seen}"
        return {row[0] for row in tx.all(sql, desk.access, **values)}

    return await desk.read(work)


@requirement("S4.space.topic", "S4.space.create", "S4.space.derive", "S4.x.tag.colon")
async def test_a_topic_is_visible_in_its_own_space_and_in_those_that_its_tags_name(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("space:Work", "urgent", "system:x"))
    assert (topic.space_id, topic.tags) == ("space-work", ("space:Work", "urgent", "system:x"))
    assert await spaces(desk, topic) == {"space-work", "space-urgent"}
    assert await names(desk, only(desk, "space-urgent")) == ["Launch"]
    assert await names(desk, only(desk, DEFAULT_SPACE)) == []
    assert await names(desk, spaces=("space-work",)) == ["Launch"]
    made = {found.id for found in await desk.read(lambda tx: every_space(tx, desk.access))}
    assert made == {DEFAULT_SPACE, "space-work", "space-urgent"}


@requirement("S4.space.derive", "S4.x.tag.colon", "S4.x.tag.rehome")
async def test_only_new_tags_or_a_space_move_a_topic(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("space:Work",))
    assert (await change(desk, topic, name="Start", tags=("space:Work",))).space_id == "space-work"
    assert (await change(desk, topic, tags=("Home", "space:Work"))).space_id == "space-home"
    assert (await change(desk, topic, tags=())).space_id == "space-home", "clearing the tags keeps it"
    assert await spaces(desk, topic) == {"space-home"}
    given = await change(desk, topic, tags=("Garden",), space_id="space-work")
    assert given.space_id == "space-work"
    assert await spaces(desk, topic) == {"space-work", "space-garden"}
    assert (await change(desk, topic, space_id=DEFAULT_SPACE)).tags == ("Garden",)
    assert await spaces(desk, topic) == {DEFAULT_SPACE, "space-garden"}
    again = await change(desk, topic, description="Dig", tags=("Garden",))
    assert again.space_id == DEFAULT_SPACE, "tags that it has already do not take it back"


@requirement("S4.x.tag.rehome")
async def test_a_change_of_anything_but_tags_and_space_leaves_a_topic_where_it_is(desk: Desk) -> None:
    """Its tags name another space than the one it was put into, so deriving it anew would move it."""
    topic = await put(desk, "Launch", tags=("Work",), space_id=DEFAULT_SPACE)
    changes: dict[str, Any] = {
        "name": "Start", "description": "All of it", "status": "snoozed", "snoozed_until": 1, "priority": "high",
        "parent_id": (await put(desk, "Parent")).id, "pinned": True, "color": "#00f", "sort_index": 2.5,
    }  # fmt: skip
    assert changes.keys() == set(TopicChange.__struct_fields__) - {"tags", "space_id"}
    for field, value in changes.items():
        assert (await change(desk, topic, **{field: value})).space_id == DEFAULT_SPACE, field
    assert (await put(desk, "Again", id=topic.id)).space_id == DEFAULT_SPACE, "written again"
    digested = await desk.db.write(lambda tx: set_topic_digest(tx, desk.access, topic.id, "We launch in May."))
    assert digested.space_id == DEFAULT_SPACE
    assert await spaces(desk, topic) == {DEFAULT_SPACE, "space-work"}


@requirement("S4.x.tag.rehome")
async def test_a_change_of_a_task_leaves_it_in_its_space_unless_it_is_given_one_or_a_topic(desk: Desk) -> None:
    home = await space(desk, "Home")
    task = await desk.create("writer", tags=("Work",), space_id=home)
    changes: dict[str, Any] = {
        "title": "x", "description": "y", "priority": 1, "tags": ("Garden",), "status": "in_progress", "pinned": True,
        "due_date": 1, "snoozed_until": 1, "color": "#00f", "sort_index": 2.5, "metadata": {"a": 1},
        "assigned_agent_ids": ("critic",),
    }  # fmt: skip
    for field, value in changes.items():
        changed = TaskChange(**{field: value})
        await desk.db.write(lambda tx, changed=changed: change_task(tx, desk.access, task.id, changed, desk.rules))  # type: ignore[misc]
        assert (await desk.task(task)).space_id == home, field


async def test_a_known_id_changes_the_topic_and_leaves_what_was_not_sent(desk: Desk) -> None:
    first = await put(desk, "Launch", id="launch", description="All of it", priority="high", tags=("a",))
    second, is_new = await desk.db.write(
        lambda tx: put_topic(tx, desk.access, NewTopic(id="launch", name="Start", pinned=True))
    )
    assert not is_new
    assert second == structs.replace(
        first, name="Start", pinned=True, seq=second.seq, updated_at=second.updated_at
    )  # fmt: skip


async def test_the_id_of_a_hidden_topic_is_taken_and_nothing_of_it_is_changed(desk: Desk) -> None:
    await put(desk, "Secret", id="t1", tags=("Secret",))
    home = await space(desk, "Home")
    with pytest.raises(Refusal) as refused:
        await put(desk, "Mine", only(desk, home), id="t1")
    assert refused.value.code == Code.CONFLICT
    assert await names(desk) == ["Secret"]


async def test_a_hidden_topic_is_not_found_by_any_read_or_write(desk: Desk) -> None:
    topic = await put(desk, "Secret", tags=("Secret",))
    stranger = only(desk, DEFAULT_SPACE)
    calls: list[Any] = [
        lambda tx: readable_topic(tx, stranger, topic.id),
        lambda tx: change_topic(tx, stranger, topic.id, TopicChange(name="Mine")),
        lambda tx: remove_topic(tx, stranger, topic.id),
        lambda tx: reorder_topics(tx, stranger, (topic.id,)),
    ]
    for call in calls:
        with pytest.raises(Refusal) as refused:
            await desk.db.write(call)
        assert refused.value.code == Code.NOT_FOUND
    assert await desk.read(lambda tx: topics_by_id(tx, stranger, [topic.id])) == []
    for wrong in ({"space_id": topic.space_id}, {"parent_id": topic.id}):
        with pytest.raises(Refusal) as refused:
            await put(desk, "Mine", stranger, **wrong)
        assert refused.value.code == Code.INVALID_PARAMS


async def test_whoever_is_limited_to_spaces_makes_topics_there(desk: Desk) -> None:
    home = await space(desk, "Home")
    assert (await put(desk, "Mine", only(desk, home), tags=("urgent",))).space_id == home
    assert await names(desk, only(desk, home)) == ["Mine"]


async def test_what_is_under_a_topic_moves_with_it(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("Work",))
    task = await desk.create(topic_id=topic.id)
    loose = await desk.create(title="Loose")
    said = await say(desk, "about it", topic_id=topic.id, space_id=topic.space_id)
    await say(desk, "on the task", task_id=task.id, space_id=topic.space_id)
    assert (task.space_id, loose.space_id) == ("space-work", DEFAULT_SPACE)
    assert await texts(desk, "space-work") == {"about it", "on the task"}
    await change(desk, topic, tags=("Home",))
    assert (await desk.task(task)).space_id == "space-home"
    assert await texts(desk, "space-work") == set()
    assert await texts(desk, "space-home") == {"about it", "on the task"}
    assert (await desk.read(lambda tx: entries_by_id(tx, desk.access, [said])))[0].space_id == "space-home"
    events = await desk.read(lambda tx: events_after(tx, desk.access, 0, limit=1_000))
    moved = [event for event in events if event.name == "task.updated"]
    assert [(event.task_id, event.topic_id, event.space_id) for event in moved] == [(task.id, topic.id, "space-home")]


async def test_one_event_tells_of_a_moved_topic_and_the_changes_of_every_entry_under_it(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("Work",))
    task = await desk.create(topic_id=topic.id)
    said = [await say(desk, "about it", topic_id=topic.id), await say(desk, "on the task", task_id=task.id)]
    before = (await desk.read(lambda tx: visible_changes(tx, desk.access, 0, limit=100))).page.seq
    await change(desk, topic, tags=("Home",))
    events = await desk.read(lambda tx: events_after(tx, desk.access, before, limit=100))
    told = sorted((event.name, event.space_id) for event in events if event.name != "space.created")
    assert told == [("task.updated", "space-home"), ("topic.updated", "space-home")]
    changes = await desk.read(lambda tx: visible_changes(tx, desk.access, before, limit=100))
    assert {entry.id for entry in changes.page.entries} >= set(said)
    assert {entry.space_id for entry in changes.page.entries} == {"space-home"}
    left = await desk.read(lambda tx: visible_changes(tx, only(desk, "space-work"), before, limit=100))
    assert set(left.left_entries) >= set(said)
    assert (left.left_topics, left.left_tasks) == ([topic.id], [task.id])


async def test_a_removed_topic_leaves_its_tasks_and_entries_behind(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("Work",))
    below = await put(desk, "Part", parent_id=topic.id)
    task = await desk.create(topic_id=topic.id)
    said = await say(desk, "about it", topic_id=topic.id, space_id=DEFAULT_SPACE)
    await desk.db.write(lambda tx: remove_topic(tx, desk.access, topic.id))
    kept: Task = await desk.task(task)
    assert (kept.topic_id, kept.space_id) == (None, "space-work")
    assert (await desk.read(lambda tx: entries_by_id(tx, desk.access, [said])))[0].topic_id is None
    assert (await desk.read(lambda tx: readable_topic(tx, desk.access, below.id))).parent_id is None
    assert await names(desk) == ["Part"]


async def test_what_is_in_a_removed_space_moves_to_the_default_space(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("Work", "Home"))
    other = await put(desk, "Other", tags=("Home", "Work"))
    task = await desk.create(space_id="space-work")
    await say(desk, "said there", space_id="space-work")
    await desk.db.write(lambda tx: remove_space(tx, desk.access, "space-work"))
    moved = {
        found.id: found for found in await desk.read(lambda tx: topics_by_id(tx, desk.access, [topic.id, other.id]))
    }
    assert (moved[topic.id].space_id, moved[topic.id].tags) == (DEFAULT_SPACE, ("Home",))
    assert (moved[other.id].space_id, moved[other.id].tags) == ("space-home", ("Home",))
    assert await spaces(desk, topic) == {DEFAULT_SPACE, "space-home"}
    assert (await desk.task(task)).space_id == DEFAULT_SPACE
    assert await texts(desk, DEFAULT_SPACE) == {"said there"}


@requirement("S4.digest.quiet")
async def test_a_new_digest_changes_neither_the_time_of_change_nor_the_order(desk: Desk) -> None:
    first, second = await put(desk, "First"), await put(desk, "Second")
    desk.advance(60)
    renewed = await desk.db.write(lambda tx: set_topic_digest(tx, desk.access, first.id, "It goes well."))
    assert (renewed.digest, renewed.updated_at) == ("It goes well.", first.updated_at)
    assert renewed.digest_updated_at == first.updated_at + 60_000
    assert renewed.seq > second.seq, "lists of changes report it"
    assert await names(desk) == ["Second", "First"]


async def test_new_topics_come_first_and_an_order_is_kept(desk: Desk) -> None:
    topics = [await put(desk, name) for name in ("one", "two", "three")]
    assert await names(desk) == ["three", "two", "one"]
    wanted = tuple(topics[at].id for at in (1, 0, 2))
    await desk.db.write(lambda tx: reorder_topics(tx, desk.access, wanted))
    assert await names(desk) == ["two", "one", "three"]


async def test_a_topic_is_no_part_of_itself(desk: Desk) -> None:
    above = await put(desk, "Above")
    below = await put(desk, "Below", parent_id=above.id)
    with pytest.raises(Refusal) as refused:
        await change(desk, above, parent_id=below.id)
    assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "parentId")


async def test_topics_are_nested_up_to_a_limit(desk: Desk) -> None:
    above: str | None = None
    for n in range(TOPIC_DEPTH_MAX):
        above = (await put(desk, f"Level {n}", parent_id=above)).id
    with pytest.raises(Refusal) as refused:
        await put(desk, "Too deep", parent_id=above)
    assert (refused.value.code, refused.value.field) == (Code.LIMIT_REACHED, "parentId")


@requirement("S4.space.log")
async def test_an_entry_is_visible_by_its_own_space_its_task_or_its_topic(desk: Desk) -> None:
    topic = await put(desk, "Launch", tags=("Work", "Urgent"))
    home = await space(desk, "Home")
    task = await desk.create(topic_id=topic.id, space_id=home)
    await say(desk, "nowhere")
    await say(desk, "own", space_id=home)
    await say(desk, "topic", topic_id=topic.id)
    await say(desk, "task", task_id=task.id)
    await say(desk, "own and topic", space_id=home, topic_id=topic.id)
    assert await texts(desk, DEFAULT_SPACE) == {"nowhere"}
    assert await texts(desk, home) == {"own", "task", "own and topic"}
    assert await texts(desk, "space-urgent") == {"topic", "task", "own and topic"}
    assert await texts(desk) == set()
    assert await texts(desk, "*") == {"nowhere", "own", "topic", "task", "own and topic"}

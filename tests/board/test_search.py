"""Searching the board: what is found, by whom, and that nobody finds what is not theirs."""

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from carrel.access import SpaceScope
from carrel.board import BoardQuery, LogFilter, board_search, found_entry, list_entries
from carrel.board.digests import publish_digest
from carrel.journal import ContextMarks, NewEntry, append_entry
from carrel.kernel import Access, Provenance, SessionKey, ToolVisibility
from carrel.storage import Tx
from carrel.topics import (
    NewTopic,
    TopicChange,
    change_topic,
    put_topic,
    remove_topic,
    set_task_digest,
    set_topic_digest,
)
from carrel.work import (
    NewTask,
    TaskChange,
    TaskFilter,
    assign_task,
    change_task,
    create_task,
    list_tasks,
    open_chat,
    reopen_task,
)
from tests.board.worlds import LANES, WORDS, Rule, World, open_worlds
from tests.requirements.mark import requirement


async def look(indexed: World, *, is_behind: bool) -> None:
    """Search as somebody, and compare with the rule as it is now."""
    caller, word = indexed.caller(), indexed.chance.choice(WORDS)
    scope = indexed.scope(caller)
    query = BoardQuery(text=word, scope=scope, session_key=caller.session if caller.viewer == "agent" else None)
    found = await indexed.find(caller, query)
    rule = await indexed.engine.db.read(lambda tx: Rule(tx, indexed.access))
    allowed = rule.allowed(caller, scope.allowed)
    assert found <= set(allowed), (word, caller, scope)
    if not is_behind:
        assert {name for name, text in allowed.items() if word in text.split()} <= found, (word, caller, scope)


@requirement("S4.search.scope")
@pytest.mark.parametrize("seed", range(6))
async def test_everybody_finds_what_the_rule_allows_in_random_worlds_that_move(store_url: str, seed: int) -> None:
    async with open_worlds(store_url, seed) as (indexed, other):
        for _ in range(25):
            # Both accounts make the same steps, so that all their keys and ids are the same.
            await indexed.step()
            await other.step()
        chances = random.Random(seed)
        for _ in range(25):
            moved = chances.choice((indexed, other))
            for _ in range(3):
                await moved.step()
            await look(indexed, is_behind=True)
            await look(other, is_behind=True)
            if chances.random() < 0.4:
                for each in (indexed, other):
                    await each.catch_up()
                    await look(each, is_behind=False)
                    await look(each, is_behind=False)


@pytest.fixture
async def indexed(store_url: str) -> AsyncIterator[World]:
    """A board with a task `pump` in a topic `house`, and its index."""
    async with open_worlds(store_url, 0) as (opened, _):
        await opened.engine.db.write(lambda tx: put_topic(tx, opened.access, NewTopic(id="house", name="The house")))
        task = NewTask(id="pump", title="Repair the pump", topic_id="house")
        await opened.engine.db.write(lambda tx: create_task(tx, opened.access, task, opened.engine.rules))
        yield opened


async def say(indexed: World, text: str, **more: Any) -> str:
    fields: dict[str, Any] = {"type": "conversation", "role": "user", "content": text, "author": "user"}
    new = NewEntry(**fields | more, provenance=Provenance(kind="external_user"))
    return (await indexed.engine.db.write(lambda tx: append_entry(tx, indexed.access, new))).id


async def found(indexed: World, text: str, access: Access | None = None, **more: Any) -> list[str]:
    """Return the ids of the entries that somebody finds, once all is indexed."""
    await indexed.catch_up()
    query = BoardQuery(text=text, **more)
    answer = await board_search(indexed.engine.db, indexed.search, access or indexed.access, query)
    return [one.item.id for one in (*answer.logs, *answer.notes)]


def agent_at(indexed: World, key: str, **more: Any) -> Access:
    view = ToolVisibility(mode="tree", key=SessionKey.stored(key), rule="", **more)
    return structs.replace(indexed.access, kind="agent", actor_id="main", agent_id="main", view=view)


async def test_what_was_said_on_a_task_moves_with_the_topic_of_the_task(indexed: World) -> None:
    name = await say(indexed, "the gasket leaks", task_id="pump")
    there = SpaceScope(allowed=("space-a",))
    assert await found(indexed, "gasket", scope=there) == []
    await indexed.engine.db.write(lambda tx: change_topic(tx, indexed.access, "house", TopicChange(tags=("a", "b"))))
    assert await found(indexed, "gasket", scope=there) == [name]
    await indexed.engine.db.write(lambda tx: remove_topic(tx, indexed.access, "house"))
    elsewhere = SpaceScope(allowed=("space-b",))
    assert await found(indexed, "gasket", scope=elsewhere) == []


async def test_a_search_in_a_topic_finds_what_was_said_on_its_tasks_and_nothing_else(indexed: World) -> None:
    on_task = await say(indexed, "gasket of the pump", task_id="pump")
    in_topic = await say(indexed, "gasket in the house", topic_id="house")
    await say(indexed, "gasket elsewhere", key=LANES[0])
    assert set(await found(indexed, "gasket", topic_id="house")) == {on_task, in_topic}
    assert await found(indexed, "gasket", task_id="pump") == [on_task]
    assert await found(indexed, "gasket", topic_id="nowhere") == []


async def test_the_lane_of_a_reopened_task_finds_only_what_came_after(indexed: World) -> None:
    await say(indexed, "the old gasket", task_id="pump")
    await say(indexed, "the old gasket elsewhere", topic_id="house")
    lane = agent_at(indexed, "agent:main:task:pump")
    assert len(await found(indexed, "gasket", lane)) == 2
    in_run = structs.replace(lane, kind="run", run_id="run_1")
    assert len(await found(indexed, "gasket", in_run)) == 1, "inside a run, the task's and nothing of the board"
    person = structs.replace(indexed.access, kind="owner", actor_id="usr_ann")

    def reopen(tx: Tx) -> None:
        assign_task(tx, person, "pump", indexed.engine.rules, agent_ids=("main",))
        change_task(tx, person, "pump", TaskChange(status="done"), indexed.engine.rules)
        reopen_task(tx, person, "pump")

    await indexed.engine.db.write(reopen)
    fresh = await say(indexed, "the new gasket", task_id="pump")
    assert await found(indexed, "gasket", lane, task_id="pump") == [fresh]
    assert len(await found(indexed, "gasket", lane)) == 2, "one from elsewhere, one from after the reopening"
    assert await found(indexed, "gasket", in_run) == [fresh]
    assert len(await found(indexed, "gasket", person)) == 3, "people find everything"


@requirement("S4.search.scope")
async def test_an_agent_finds_what_it_works_on_outside_of_its_spaces_like_everywhere_else(indexed: World) -> None:
    db, rules = indexed.engine.db, indexed.engine.rules
    await db.write(lambda tx: change_topic(tx, indexed.access, "house", TopicChange(space_id="space-b")))
    other = NewTask(id="roof", title="Repair the roof", topic_id="house")
    await db.write(lambda tx: create_task(tx, indexed.access, other, rules))
    said = [await say(indexed, f"a gasket {kind}", task_id="pump", type=kind) for kind in ("conversation", "note")]
    for elsewhere in ({"task_id": "roof"}, {"topic_id": "house"}):
        await say(indexed, "another gasket", **elsewhere)
    agent = structs.replace(agent_at(indexed, LANES[0]), space_ids=("space-a",))

    async def seen(**scope: Any) -> tuple[list[str], list[str], list[str]]:
        """What is found, what the log lists, and the tasks that are listed."""
        spaces = SpaceScope(**scope)
        listed = await db.read(lambda tx: list_entries(tx, agent, LogFilter(spaces=spaces.allowed), limit=9))
        tasks = await db.read(lambda tx: list_tasks(tx, agent, TaskFilter(spaces=spaces.allowed), before=None, limit=9))
        logs = [entry.id for entry in listed if entry.task_view is None]
        return sorted(await found(indexed, "gasket", agent, scope=spaces)), sorted(logs), [task.id for task in tasks]

    assert await seen() == ([], [], [])
    await db.write(lambda tx: assign_task(tx, indexed.access, "pump", rules, agent_ids=("main",)))
    # It sees the task and its log; a search finds what was said there in the lanes of that task alone.
    assert await seen() == ([], sorted(said), ["pump"])
    assert (await db.read(lambda tx: found_entry(tx, agent, said[0]))).id == said[0]
    assert await seen(source="space-a", allowed=("space-a",)) == ([], [], [])
    there = SpaceScope(source="space-b", allowed=())
    assert await found(indexed, "gasket", agent, scope=there, task_id="pump") == []
    lane = structs.replace(agent_at(indexed, "agent:main:task:pump"), space_ids=("space-a",))
    assert sorted(await found(indexed, "gasket", lane, scope=there)) == sorted(said)
    outside = structs.replace(lane, agent_id="other", actor_id="other")
    asked: dict[str, Any]
    for asked in ({}, {"scope": there}, {"scope": there, "task_id": "pump"}):
        assert await found(indexed, "gasket", outside, **asked) == [], "naming a task opens it to nobody"
    nobody = TaskChange(assigned_agent_ids=())
    await db.write(lambda tx: change_task(tx, indexed.access, "pump", nobody, rules))
    assert await seen() == ([], [], [])


async def test_entries_that_wait_to_be_sorted_are_left_out_on_request_without_leaving_a_gap(indexed: World) -> None:
    for at in range(3):
        await say(indexed, f"gasket gasket {at}", topic_id="house")
    sorted_in = await say(indexed, "a gasket, long ago", topic_id="house", classification="classified")
    assert await found(indexed, "gasket", with_pending=False, logs_max=1) == [sorted_in]
    assert sorted_in not in await found(indexed, "gasket", without=frozenset([sorted_in]))


async def test_what_is_said_in_the_orchestrator_chat_is_found_by_people_alone(indexed: World) -> None:
    chat = await indexed.engine.db.write(lambda tx: open_chat(tx, indexed.access))
    name = await say(indexed, "the gasket is secret", task_id=chat.id)
    assert await found(indexed, "gasket") == [name]
    assert await found(indexed, "gasket", agent_at(indexed, LANES[0])) == []
    answer = await board_search(indexed.engine.db, indexed.search, indexed.access, BoardQuery(text="orchestrator chat"))
    assert answer.tasks == ()


@requirement("S4.clean.markers")
async def test_injected_context_in_a_question_is_not_searched_for(indexed: World) -> None:
    await say(indexed, "the gasket leaks", topic_id="house")
    block = f"{ContextMarks.BEGIN}\ngasket\n{ContextMarks.END}"
    assert await found(indexed, block) == []
    assert await found(indexed, f"{block}\nwhat of the house?") == []
    assert len(await found(indexed, f"{block}\ngasket")) == 1


async def test_neither_digests_nor_what_was_done_to_a_task_are_found(indexed: World) -> None:
    def summarise(tx: Tx) -> None:
        set_topic_digest(tx, indexed.access, "house", "The gasket leaks.")
        set_task_digest(tx, indexed.access, "pump", "The gasket leaks.")
        for kind, item in (("topic", "house"), ("task", "pump")):
            publish_digest(tx, indexed.access, kind, item, None)  # type: ignore[arg-type]

    await indexed.engine.db.write(summarise)
    activity = {"type": "system", "role": "system", "author": "system", "task_view": "activities"}
    await say(indexed, "Olga moved the gasket task.", task_id="pump", **activity)
    posted = await say(indexed, "I moved the gasket.", task_id="pump", task_view="thread")
    assert await found(indexed, "gasket") == [posted]
    answer = await board_search(indexed.engine.db, indexed.search, indexed.access, BoardQuery(text="gasket"))
    assert (answer.topics, answer.tasks) == ((), ())
    answer = await board_search(indexed.engine.db, indexed.search, indexed.access, BoardQuery(text="house pump"))
    shown = [*(one.item.digest for one in answer.topics), *(one.item.digest for one in answer.tasks)]
    assert shown == ["The gasket leaks."] * 2


async def test_noise_is_not_found(indexed: World) -> None:
    await say(indexed, "HEARTBEAT_OK", topic_id="house")
    await say(indexed, "[cron:nightly] gasket report", topic_id="house")
    await say(indexed, "Tool call: find gasket", type="action", role="toolCall", topic_id="house")
    assert await found(indexed, "gasket heartbeat_ok nightly") == []

"""The index follows the journal: what is written is found soon, what is deleted at once no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from carrel.board import BoardDocuments
from carrel.journal import FollowerDuty, NewEntry, append_entry, delete_transcript, events_behind
from carrel.kernel import MS_PER_DAY, Provenance
from carrel.kernel.limits import SEARCH_CHUNK_CHARS
from carrel.kernel.settings import SearchSettings
from carrel.search import Indexing, Rebuilds, observe_entries, request_rebuild
from carrel.search.store import is_rebuilding
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic, set_task_digest, set_topic_digest
from carrel.work import NewTask, TaskChange, change_task, create_task
from tests.harness.engine import MAIN, START_MS, Engine, lane_key, open_engine
from tests.requirements.mark import requirement
from tests.search.board import Board, MeaningsOf


@pytest.fixture
def index(board: Board) -> Board:
    """A board whose index follows the journal when a test says so."""
    observe_entries(board.engine.db)
    return board


async def say(board: Board, text: str, **more: Any) -> str:
    """Write an entry."""
    fields = {"type": "message", "role": "user", "content": text, "author": "user"} | more
    entry = NewEntry(**fields, provenance=Provenance(kind="external_user"))
    return (await board.engine.db.write(lambda tx: append_entry(tx, board.access, entry))).id


def indexing(board: Board, **settings: Any) -> Indexing:
    return Indexing(board.engine.db, BoardDocuments(), board.embedder, SearchSettings(**settings))


@asynccontextmanager
async def following(board: Board, follower: Indexing) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(FollowerDuty(board.engine.db, follower, "one").serve())
        yield
        serving.cancel()


async def follow(board: Board, **settings: Any) -> None:
    """Have everything indexed that was written so far."""
    async with following(board, indexing(board, **settings)):
        await board.engine.until(lambda tx: events_behind(tx, board.access).get("search") == 0)


async def rebuild(board: Board) -> None:
    """Rebuild the index as the duty does, round after round."""
    duty = Rebuilds(indexing(board))
    while await board.engine.db.read(lambda tx: is_rebuilding(tx, board.access)):
        await duty.round()


@requirement("S4.search.tuning")
@pytest.mark.parametrize(("parts", "found"), [(1, False), (2, True)])
async def test_as_many_parts_of_a_text_are_compared_as_the_settings_say(
    sqlite_url: str, parts: int, *, found: bool
) -> None:
    async with open_engine(sqlite_url) as engine:
        observe_entries(engine.db)
        board = Board(engine, MeaningsOf("car vehicle"))
        name = await say(board, f"{'x ' * (SEARCH_CHUNK_CHARS // 2)} vehicle")
        await follow(board, rerank_chunks_per_doc=parts)
        assert await board.logs("car", viewer="owner") == ([name] if found else [])


@requirement("S4.search.index")
async def test_an_entry_is_found_once_the_follower_has_seen_it(index: Board) -> None:
    name = await say(index, "the gasket was replaced")
    assert await index.logs("gasket", viewer="owner") == []
    await follow(index)
    assert await index.logs("gasket", viewer="owner") == [name]
    later = await say(index, "the gasket broke again")
    await follow(index)
    assert sorted(await index.logs("gasket", viewer="owner")) == sorted([name, later])


# Copies of documents, as many of each as are asked for.
COPIES = """
INSERT INTO search_documents (account_id, kind, id, number, version, at, reach, places, speaker, session_key, sequence,
    length, is_question, model, codes, label, terms, vectors)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :copies)
SELECT account_id, kind, id || '-' || n, tick(), tick(), at + n, reach, places, speaker, session_key, sequence, length,
    is_question, model, codes, label, terms, vectors
FROM search_documents CROSS JOIN numbers WHERE account_id = :account AND id IN ('newer-1', 'newer-2')
"""


@pytest.mark.slow
@requirement("S4.x.note.reach", "S4.x.recall.window")
async def test_fifty_thousand_newer_entries_hide_nothing_that_is_kept_nor_what_says_all_of_it(index: Board) -> None:
    entry = await say(index, "the safe is behind the wardrobe", task_id=None)
    alone = await say(index, "the safe is blue", type="note")
    tied = await say(index, "the safe is red", type="note", related_id=entry)
    await follow(index)
    await index.put("k1", "", kind="task", label="Open the safe")
    for name, text in (("newer-1", "the safe is locked"), ("newer-2", "the wardrobe is locked")):
        await index.put(name, text, at=START_MS + 900 * MS_PER_DAY)
    await index.engine.db.write(lambda tx: tx.run(COPIES, index.access, copies=24_999))

    for question in ("safe", "where is the safe", "safe wardrobe", "safe northwind", "safe blue"):
        for quick in (False, True):
            found = await index.find(question, viewer="owner", quick=quick)
            assert {hit.id for hit in found.notes} == {alone, tied}, question
            assert [hit.id for hit in found.tasks] == ["k1"], question
            assert question != "safe wardrobe" or found.logs[0].id == entry


@requirement("S4.search.tuning")
@pytest.mark.parametrize("parts", [1, 3, 6])
async def test_the_settings_say_how_many_parts_of_a_text_have_a_meaning(engine: Engine, parts: int) -> None:
    board = Board(engine, MeaningsOf("alpha", "beta"))
    name = await say(board, "alpha " * 1_200)
    await follow(board, rerank_chunks_per_doc=parts)
    sql = "SELECT codes FROM search_documents WHERE account_id = :account AND id = :id"
    row = await engine.read(lambda tx: tx.one(sql, board.access, id=name))
    assert row is not None
    assert len(row[0]) == parts * 64 // 8


@requirement("S4.search.tooltraces")
async def test_tool_calls_and_results_are_found_only_where_a_setting_includes_them(index: Board) -> None:
    for role in ("toolCall", "toolResult"):
        await say(index, "gasket", type="action", role=role)
    await follow(index)
    assert await index.logs("gasket", viewer="owner") == []
    await index.engine.db.write(lambda tx: request_rebuild(tx, index.access))
    duty = Rebuilds(indexing(index, include_tool_call_logs=True))
    while await index.engine.db.read(lambda tx: is_rebuilding(tx, index.access)):
        await duty.round()
    assert len(await index.logs("gasket", viewer="owner")) == 2


async def test_an_entry_that_belongs_to_no_task_is_found_in_its_own_session_alone(index: Board) -> None:
    for lane, text in (("a", "gasket one"), ("b", "gasket two")):
        await index.engine.say(lane_key(lane), text)
        await index.engine.db.write(lambda tx, lane=lane, text=text: _spoken(tx, index, lane, text))  # type: ignore[misc]
    await follow(index)
    assert len(await index.logs("gasket", session_key=str(lane_key("a")))) == 1
    assert await index.logs("gasket", session_key=str(MAIN)) == []
    assert len(await index.logs("gasket", viewer="owner")) == 2


def _spoken(tx: Tx, board: Board, lane: str, text: str) -> None:
    entry = NewEntry(type="message", role="user", content=text, author="user", key=str(lane_key(lane)),
                     provenance=Provenance(kind="external_user"))  # fmt: skip
    append_entry(tx, board.access, entry)


async def test_what_is_deleted_is_found_no_more_even_before_the_follower_has_seen_it(index: Board) -> None:
    await index.engine.say(lane_key("a"), "hello")
    await index.engine.db.write(lambda tx: _spoken(tx, index, "a", "gasket one"))
    await follow(index)
    assert len(await index.logs("gasket", viewer="owner")) == 1
    await index.engine.db.write(lambda tx: _spoken(tx, index, "a", "gasket two"))
    await index.engine.db.write(lambda tx: delete_transcript(tx, index.access, "key", str(lane_key("a"))))
    assert await index.logs("gasket", viewer="owner") == []
    await follow(index)
    assert await index.logs("gasket", viewer="owner") == []


@requirement("S4.clean.system.tags")
async def test_a_task_is_found_by_its_title_and_text_but_not_by_its_tags(index: Board) -> None:
    new = NewTask(
        id="t7", title="Replace the gasket", description="before the pump starts", tags=("system:urgent", "sealing")
    )
    await index.engine.db.write(lambda tx: create_task(tx, index.access, new, index.engine.rules))
    await follow(index)
    for words, found in {"gasket": ["t7"], "pumps": ["t7"], "urgent": [], "sealing": [], "system": []}.items():
        assert [hit.id for hit in (await index.find(words)).tasks] == found, words
    change = TaskChange(title="Replace the valve")
    await index.engine.db.write(lambda tx: change_task(tx, index.access, "t7", change, index.engine.rules))
    await follow(index)
    assert ([hit.id for hit in (await index.find("valve")).tasks], (await index.find("gasket")).tasks) == (
        ["t7"],
        (),
    )


@requirement("S4.clean.system.tags")
async def test_tags_and_digests_are_no_words_of_a_topic_or_task_and_change_no_score(index: Board) -> None:
    def furnish(tx: Tx) -> None:
        for name, tags in (("plain", ()), ("tagged", ("system:urgent", "system:gasket"))):
            put_topic(tx, index.access, NewTopic(id=name, name="Gasket works", tags=tags))
            create_task(tx, index.access, NewTask(id=name, title="Gasket works", tags=tags), index.engine.rules)

    await index.engine.db.write(furnish)
    await follow(index)

    async def scores() -> list[dict[str, float]]:
        found = await index.find("urgent gasket")
        return [{hit.id: hit.score for hit in hits} for hits in (found.topics, found.tasks)]

    before = await scores()
    assert all(one["plain"] == one["tagged"] > 0 for one in before)

    def digest(tx: Tx) -> None:
        set_topic_digest(tx, index.access, "tagged", "An urgent gasket, a valve.")
        set_task_digest(tx, index.access, "tagged", "An urgent gasket, a valve.")

    await index.engine.db.write(digest)
    await follow(index)
    await index.engine.db.write(lambda tx: request_rebuild(tx, index.access))
    await rebuild(index)
    assert await scores() == before
    for word in ("valve", "urgent", "system"):
        found = await index.find(word)
        assert (found.topics, found.tasks) == ((), ()), word


async def test_what_is_said_on_a_task_is_found_in_the_topic_of_the_task_too(index: Board) -> None:
    def furnish(tx: Tx) -> None:
        for name in ("house", "garden"):
            put_topic(tx, index.access, NewTopic(id=name, name=name))
        create_task(tx, index.access, NewTask(id="pump", title="Repair", topic_id="house"), index.engine.rules)

    await index.engine.db.write(furnish)
    name = await say(index, "the gasket leaks", task_id="pump", topic_id="garden")
    await follow(index)
    for topic in ("house", "garden"):
        assert await index.logs("gasket", viewer="owner", topic_id=topic) == [name]


@requirement("S4.search.index")
async def test_the_index_is_rebuilt_from_the_journal_while_it_answers(index: Board) -> None:
    names = [await say(index, f"gasket {n}", task_id=None) for n in range(3)]
    await index.put("gone", "gasket of an entry that is not there")
    await follow(index)
    await index.engine.db.write(lambda tx: request_rebuild(tx, index.access))
    duty = Rebuilds(indexing(index))
    await duty.round()
    assert set(await index.logs("gasket", viewer="owner")) == {*names, "gone"}
    await rebuild(index)
    assert set(await index.logs("gasket", viewer="owner")) == set(names)


async def test_a_rebuild_gives_entries_the_meanings_of_another_model(index: Board) -> None:
    name = await say(index, "an automobile")
    await follow(index)
    other = Board(index.engine, MeaningsOf("automobile vehicle"))
    assert await other.logs("vehicle", viewer="owner") == []
    await other.engine.db.write(lambda tx: request_rebuild(tx, other.access))
    await rebuild(other)
    assert await other.logs("vehicle", viewer="owner") == [name]

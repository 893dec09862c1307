"""Merging small topics that are about the same, taking a merge back, and what a person has settled."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from carrel.board import LogChange, change_entry, join_topics, split_topic
from carrel.board.classifier.likeness import Merge, best_merge
from carrel.board.classifier.scores import Candidate
from carrel.board.profiles import Profile, Weights, name_by_words, telling_words
from carrel.journal import Entry, events_after
from carrel.kernel import Access, Refusal
from carrel.topics import Topic, TopicChange, change_topic, topics_by_id
from tests.board.places import Board, open_board
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio
KILN = ("The kiln cracked my glazed bowl", "Kiln temperature ruins every glazed bowl", "Another glazed bowl, same kiln")
LOAN = ("The lender wants an appraisal", "Lender asks for the appraisal again", "Which appraisal does the lender need?")


@pytest.fixture
async def board(store_url: str) -> AsyncIterator[Board]:
    async with open_board(store_url) as opened:
        yield opened


def made(name: str, *said: str, **more: Any) -> Candidate:
    """Return a topic that the classifier has made of messages."""
    return Candidate(id=name, name=name, profile=Profile().with_said(said), is_loose=True, **more)


def person(board: Board) -> Access:
    """Return the access of a person."""
    return structs.replace(board.access, kind="user")


async def topic(board: Board, entry: Entry) -> Topic:
    """Return the topic of an entry."""
    topic_id = (await board.entry(entry)).topic_id
    assert topic_id is not None
    return (await board.db.read(lambda tx: topics_by_id(tx, board.access, [topic_id])))[0]


async def talk(board: Board, *chats: tuple[str, ...], **more: Any) -> list[Entry]:
    """Say something in one chat after another, sorting in between."""
    said: list[Entry] = []
    for number, chat in enumerate(chats):
        for text in chat:
            said.append(await board.send(text, f"chat-{number}-{more.get('space_id', '')}", **more))
            await board.sort()
    return said


def test_topics_that_share_telling_words_are_merged_and_others_are_not() -> None:
    topics = [made("a", *KILN[:2]), made("b", KILN[2], KILN[0]), made("c", *LOAN)]
    assert best_merge(topics, {"a", "b", "c"}, set(), {}) in (Merge("a", "b"), Merge("b", "a"))
    assert best_merge([topics[0], topics[2]], {"a", "c"}, set(), {}) is None


def test_one_word_in_common_merges_nothing() -> None:
    topics = [made("a", "The bank of the river", "river bank"), made("b", "My bank raised a fee", "bank fee")]
    assert best_merge(topics, {"a", "b"}, set(), {("a", "b"): 1.0}) is None


def test_nothing_is_merged_that_a_person_has_named_nor_what_other_spaces_see() -> None:
    first, second = made("a", *KILN), made("b", *KILN)
    settled = structs.replace(first, is_loose=False)
    assert best_merge([settled, second], {"b"}, set(), {}) == Merge("a", "b")
    assert best_merge([settled, structs.replace(second, is_loose=False)], {"b"}, set(), {}) is None
    for apart in ({"is_plain": False}, {"is_snoozed": True}, {"name": "Small Talk"}):
        assert best_merge([first, structs.replace(second, **apart)], {"b"}, set(), {}) is None


def test_what_is_still_talked_about_is_left_alone_while_it_is_short() -> None:
    topics = [made("a", *KILN), made("b", KILN[0])]
    assert best_merge(topics, {"a", "b"}, {"b"}, {}) is None
    assert best_merge(topics, {"a", "b"}, set(), {}) == Merge("a", "b")


@requirement("A.topic.names")
def test_a_name_is_made_of_the_words_that_set_a_topic_apart() -> None:
    said = [f"Hi Maria! {text}, see the report" for text in KILN]
    others = [Profile().with_said([f"{text}, see the report"]).words for text in LOAN]
    profile = Profile().with_said(said)
    assert name_by_words(profile, Weights([profile.words, *others])) == "Bowl, glazed, kiln"
    assert name_by_words(Profile().with_said(["Thanks, Maria!", "Wow, cool"]), Weights([])) is None


@pytest.mark.parametrize("text", ["Thanks, Maria!", "Wow, Jon, that's great", "Guten Morgen Anna", "I think so too"])
def test_greetings_thanks_names_and_filler_tell_nothing(text: str) -> None:
    assert not telling_words(text)


@requirement("A.topic.names")
async def test_fragments_of_one_subject_become_one_topic_that_remembers_them(board: Board) -> None:
    said = await talk(board, KILN[:2], LOAN, KILN[2:], LOAN)
    kiln = await topic(board, said[0])
    assert (await topic(board, said[5])).id == kiln.id
    assert (await topic(board, said[2])).id != kiln.id
    assert kiln.name == "Bowl, glazed, kiln"


@requirement("A.topic.names")
async def test_a_merge_is_an_event_and_can_be_taken_back_for_good(board: Board) -> None:
    first, second = await board.send(KILN[0], "a"), await board.send(LOAN[0], "b")
    await board.sort()
    into, other = await topic(board, first), await topic(board, second)
    joined = await board.db.write(lambda tx: join_topics(tx, person(board), into.id, [other.id]))
    assert (await topic(board, second)).id == into.id
    (merged,) = joined.merged_from
    assert (merged.id, merged.name, merged.entry_ids) == (other.id, other.name, (second.id,))
    events = await board.db.read(lambda tx: events_after(tx, board.access, 0, limit=1_000))
    (event,) = [event for event in events if event.name == "topic.merged"]
    assert json.loads(event.body)["merged"]["entryIds"] == [second.id]
    split = await board.db.write(
        lambda tx: split_topic(tx, person(board), into.id, merged.entry_ids, merged.name)
    )  # fmt: skip
    assert ((await topic(board, second)).id, split.name, split.created_by) == (split.id, other.name, "user")
    await talk(board, KILN, LOAN)
    assert (await topic(board, second)).id == split.id


async def test_a_persons_name_and_move_are_final(board: Board) -> None:
    said = await talk(board, KILN[:1], LOAN[:1])
    kiln, loan = await topic(board, said[0]), await topic(board, said[1])
    await board.db.write(lambda tx: change_topic(tx, person(board), kiln.id, TopicChange(name="My hobby")))
    await board.db.write(lambda tx: change_entry(tx, person(board), said[1].id, LogChange(topic_id=kiln.id)))
    await talk(board, KILN, LOAN, KILN)
    assert (await topic(board, said[0])).name == "My hobby"
    assert (await topic(board, said[1])).id == kiln.id
    rows = await board.db.read(lambda tx: topics_by_id(tx, board.access, [kiln.id, loan.id]))
    assert {row.id for row in rows} >= {kiln.id}
    assert all(row.curated for row in rows)


async def test_topics_of_two_spaces_are_never_merged(board: Board) -> None:
    home = await board.space("Home")
    here, there = await talk(board, KILN, LOAN[:1]), await talk(board, KILN, LOAN[:1], space_id=home)
    assert (await topic(board, here[0])).space_id != (await topic(board, there[0])).space_id
    one, other = (await topic(board, here[0])).id, (await topic(board, there[0])).id
    with pytest.raises(Refusal, match="same spaces"):
        await board.db.write(lambda tx: join_topics(tx, person(board), one, [other]))


async def test_a_deleted_word_is_in_no_profile_and_is_learnt_no_more(board: Board) -> None:
    said = await talk(board, KILN)
    kiln = await topic(board, said[0])
    sql = "SELECT words FROM topic_profiles WHERE account_id = :account AND topic_id = :id"
    assert "crack" in (await board.db.read(lambda tx: tx.one(sql, board.access, id=kiln.id)) or [""])[0]
    reworded = LogChange(content="The kiln broke my bowl")
    await board.db.write(lambda tx: change_entry(tx, person(board), said[0].id, reworded))
    assert await board.db.read(lambda tx: tx.one(sql, board.access, id=kiln.id)) is None
    await talk(board, KILN[1:])
    known = (await board.db.read(lambda tx: tx.one(sql, board.access, id=kiln.id)) or [""])[0]
    assert "kiln" in known
    assert "crack" not in known


async def test_what_is_not_in_a_topic_cannot_be_split_off_it(board: Board) -> None:
    said = await talk(board, KILN[:1], LOAN[:1])
    kiln = await topic(board, said[0])
    with pytest.raises(Refusal, match="entries of this topic"):
        await board.db.write(lambda tx: split_topic(tx, person(board), kiln.id, [said[1].id], None))
